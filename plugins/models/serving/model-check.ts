/** Whether a model can be asked at all, judged before work for it is accepted. */
import { type Client, isPorticoError } from "portico";
import {
  type Candidate,
  type Listing,
  requireChannel,
  resolve,
  type Routing,
} from "../routing/router.ts";
import type { Endpoint } from "./access.ts";
import { errors } from "../errors.ts";
import { isThere, withNearest } from "./model-routes.ts";

/** An upstream that takes longer to list its models is taken to have any model. */
const LISTING_WAIT_MS = 2_000;

export interface NamedTarget {
  model?: string | undefined;
  /** Only this channel may serve the model. */
  channel?: string | undefined;
}

export interface ModelCheckOptions {
  /** Who reads the error: a suggestion names only models that this client may use. Without it there is no suggestion. */
  client?: Client | undefined;
}

/**
 * Throws `model_not_found` (404, `param: "model"`) where the router would certainly refuse the model, and
 * `invalid_request_error` (400, `param: "channel"`) for a channel that is not there. What cannot be known counts as
 * possible: an upstream that does not say its models, or not in time, may have any.
 */
export async function checkModel(
  endpoint: Endpoint,
  { model, channel }: NamedTarget,
  { client }: ModelCheckOptions = {},
): Promise<void> {
  const channels = endpoint.engine.routing.channels();
  if (channel !== undefined) requireChannel(channels, channel);
  if (model === undefined) return;
  const routing: Routing = {
    ...endpoint.engine.routing,
    listing: (each) => listingInTime(endpoint.engine.routing.listing(each)),
  };
  try {
    const candidates = await resolve(routing, model, channel);
    if (!(await isAnyThere(endpoint, candidates)))
      throw errors.unknownModel({ model, hint: "" }, { param: "model", details: { model } });
  } catch (error) {
    if (!isPorticoError(error) || error.code !== "model_not_found") throw error;
    throw client === undefined ? error : await withNearest(endpoint, client, error);
  }
}

async function isAnyThere(endpoint: Endpoint, candidates: readonly Candidate[]): Promise<boolean> {
  for (const candidate of candidates) if (await isThere(endpoint, candidate)) return true;
  return false;
}

async function listingInTime(listing: Listing | Promise<Listing>): Promise<Listing> {
  if (!(listing instanceof Promise)) return listing;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Listing>((resolve) => {
    timer = setTimeout(() => resolve("unknown"), LISTING_WAIT_MS);
  });
  try {
    return await Promise.race([listing, late]);
  } finally {
    clearTimeout(timer);
  }
}
