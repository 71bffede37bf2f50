/** Asks the upstream of a model how many tokens a request has. */
import type { Call } from "portico";
import {
  applyChatRules,
  applyMessagesRules,
  type ChatRequest,
  type NativeRequest,
  type WireProvider,
  type WireRequest,
} from "portico/provider";
import type { Candidate } from "../routing/router.ts";
import { resolve } from "../routing/router.ts";
import { selectTargets } from "../routing/select-targets.ts";
import { AttemptTarget } from "../upstream/target.ts";
import { admit, type Endpoint } from "./access.ts";
import { withNearest } from "./model-routes.ts";

interface Countable {
  request: ChatRequest;
  native: NativeRequest | undefined;
}

/** Undefined if the upstream cannot count, or returns no number. */
export async function countTokens(
  endpoint: Endpoint,
  call: Call,
  request: ChatRequest,
  native: NativeRequest | undefined,
): Promise<number | undefined> {
  const { engine } = endpoint;
  try {
    await admit(endpoint, call, request.model);
    const { candidates } = selectTargets(await resolve(engine.routing, request.model));
    const first = candidates[0];
    return first === undefined ? undefined : await askOne(endpoint, first, { request, native });
  } catch (error) {
    throw await withNearest(endpoint, call.client, error);
  }
}

async function askOne(
  { engine }: Endpoint,
  { channel, model, shape }: Candidate,
  counted: Countable,
): Promise<number | undefined> {
  const provider = engine.provider(channel.config.provider);
  const wire = provider?.wire;
  if (wire?.countTokens === undefined) return undefined;
  const apiKey = channel.takeKey(model).value;
  const { defaultBaseUrl } = provider!;
  const target = new AttemptTarget(engine, { channel, model, apiKey, defaultBaseUrl });
  // What an alias adds is sent, and so it counts; it exists only in the translation.
  const shaped =
    shape?.apply === undefined
      ? counted
      : { request: shape.apply(counted.request), native: undefined };
  try {
    await target.authorize(wire);
    const call = await encode(wire, target, shaped);
    if (call === undefined) return undefined;
    const response = await target.request(call);
    if (response.status !== 200) return undefined;
    return wire.countTokens.decode(response.body);
  } catch (error) {
    engine.log.debug(
      { channel: channel.name, model, err: target.hide(error) },
      "the channel did not count the tokens",
    );
    return undefined;
  }
}

function encode(
  wire: WireProvider,
  target: AttemptTarget,
  { request, native }: Countable,
): WireRequest | undefined | Promise<WireRequest | undefined> {
  const rules = wire.rules ?? [];
  const fitted = applyChatRules(rules, request, { target, isTranslated: true });
  const hasOwnRules = native !== undefined && wire.native?.[native.form]?.hasOwnRules === true;
  const messagesRules = hasOwnRules ? [] : rules;
  const body = native && applyMessagesRules(messagesRules, native.body, { target }).request;
  const fittedNative = native && { ...native, body: body! };
  const chat = { ...(fitted.request as ChatRequest), model: target.model };
  return wire.countTokens!.encode(chat, target, fittedNative);
}
