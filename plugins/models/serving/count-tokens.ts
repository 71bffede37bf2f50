/** Requests the number of tokens of a request from the upstream of its model. */
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
import { withSuggestion } from "./model-routes.ts";

interface Countable {
  request: ChatRequest;
  native: NativeRequest | undefined;
}

/** Returns undefined if the upstream cannot count, or returns no number. */
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
    return first === undefined
      ? undefined
      : await countAtTarget(endpoint, first, { request, native });
  } catch (error) {
    throw await withSuggestion(endpoint, call.client, error);
  }
}

async function countAtTarget(
  { engine }: Endpoint,
  { channel, model, shape }: Candidate,
  countable: Countable,
): Promise<number | undefined> {
  const provider = engine.provider(channel.config.provider);
  const wire = provider?.wire;
  if (wire?.countTokens === undefined) return undefined;
  const apiKey = channel.takeKey(model).value;
  const { defaultBaseUrl } = provider!;
  const target = new AttemptTarget(engine, { channel, model, apiKey, defaultBaseUrl });
  // The additions of an alias are sent and therefore counted. They exist only in the OpenAI format.
  const shaped =
    shape?.apply === undefined
      ? countable
      : { request: shape.apply(countable.request), native: undefined };
  try {
    await target.authorize(wire);
    const call = await encode(wire, target, shaped);
    if (call === undefined) return undefined;
    const response = await target.request(call);
    if (response.status !== 200) return undefined;
    return wire.countTokens.decode(response.body);
  } catch (error) {
    engine.log.debug(
      { channel: channel.name, model, err: target.maskError(error) },
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
