/** Checks whether a model can be requested at all, before work for it is accepted. */
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
import { isAvailable, withSuggestion } from "./model-routes.ts";

/** An upstream that takes longer to list its models is assumed to have any model. */
const LISTING_WAIT_MS = 2_000;

export interface NamedTarget {
  model?: string | undefined;
  /** If set, only this channel may serve the model. */
  channel?: string | undefined;
}

export interface ModelCheckOptions {
  /**
   * The client that reads the error: a suggestion names only models that it may use. Without a client there is no
   * suggestion.
   */
  client?: Client | undefined;
}

/**
 * Throws `model_not_found` (404, `param: "model"`) if the router would certainly refuse the model, and
 * `invalid_request_error` (400, `param: "channel"`) for an unknown channel. An uncertain case counts as possible: an
 * upstream that does not list its models, or not in time, may have any.
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
    if (!(await isAnyAvailable(endpoint, candidates)))
      throw errors.unknownModel({ model, hint: "" }, { param: "model", details: { model } });
  } catch (error) {
    if (!isPorticoError(error) || error.code !== "model_not_found") throw error;
    throw client === undefined ? error : await withSuggestion(endpoint, client, error);
  }
}

async function isAnyAvailable(
  endpoint: Endpoint,
  candidates: readonly Candidate[],
): Promise<boolean> {
  for (const candidate of candidates) if (await isAvailable(endpoint, candidate)) return true;
  return false;
}

async function listingInTime(listing: Listing | Promise<Listing>): Promise<Listing> {
  if (!(listing instanceof Promise)) return listing;
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<Listing>((resolve) => {
    timer = setTimeout(() => resolve("unknown"), LISTING_WAIT_MS);
  });
  try {
    return await Promise.race([listing, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
