/** Changes a request as its alias demands, on its way to the alias's targets. */
import {
  type ChatMessage,
  type ChatRequest,
  rememberPlaces,
  type RuleMessage,
  withSource,
} from "portico/provider";
import type { Shaping } from "../job.ts";
import type { AliasConfig } from "../schema.ts";
import { ResponseCache } from "./response-cache.ts";

export interface AliasShape extends Shaping {
  /** Go on to the next target where this one refuses the request for its length, or its content. */
  readonly fallbackOn: ReadonlySet<"error" | "context_length" | "content_filter">;
  readonly cache: ResponseCache | undefined;
}

type Settings = Exclude<AliasConfig, string>;
type Params = NonNullable<Settings["params"]>;

const shapes = new WeakMap<Settings, AliasShape>();
/** The gateway's own to say. */
const OURS = ["model", "models", "messages", "stream", "stream_options"];
/** What text completions do not have, or have in another form. */
const CHAT_ONLY = [
  ...[
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "functions",
    "function_call",
    "response_format",
    "audio",
  ],
  ...[
    "reasoning_effort",
    "logprobs",
    "top_logprobs",
    "modalities",
    "prediction",
    "verbosity",
    "web_search_options",
  ],
];

/** Undefined if the alias has only targets. */
export function shapeOf(alias: Settings): AliasShape | undefined {
  const { params, system, fallbackOn, cache } = alias;
  if ([params, system, fallbackOn, cache].every((setting) => setting === undefined))
    return undefined;
  let shape = shapes.get(alias);
  if (shape === undefined) {
    shape = {
      apply:
        params === undefined && system === undefined
          ? undefined
          : (request) => shaped(request, alias),
      completion: params && ((members) => withParams(members, forCompletions(params))),
      fallbackOn: new Set(fallbackOn),
      cache: cache && new ResponseCache(cache),
    };
    shapes.set(alias, shape);
  }
  return shape;
}

function shaped(request: ChatRequest, { params, system }: Settings): ChatRequest {
  const out = withParams(request, params) as ChatRequest;
  return system === undefined ? out : { ...out, messages: afterSystem(system, request.messages) };
}

/** Headers and errors go on to name the messages by the places that the client gave them. */
function afterSystem(system: string, messages: readonly ChatMessage[]): ChatMessage[] {
  const first = withSource({ role: "system", content: system }, "system", { content: "system" });
  return [first, ...(rememberPlaces(messages as RuleMessage[]) as ChatMessage[])];
}

function withParams(
  request: Record<string, unknown>,
  params: Params | undefined,
): Record<string, unknown> {
  const out = { ...request };
  for (const [name, value] of settable(params?.default)) {
    if (namesOf(name).every((one) => out[one] == null)) out[name] = value;
  }
  for (const [name, value] of settable(params?.force)) {
    for (const one of namesOf(name)) delete out[one];
    out[name] = value;
  }
  for (const [name, most] of Object.entries(params?.max ?? {})) limit(out, name, most);
  return out;
}

/** Those that `/v1/completions` has as well, by its own name for the tokens. */
function forCompletions({ default: defaults, force, max }: Params): Params {
  const own = <T>(values: Record<string, T> = {}): Record<string, T> =>
    Object.fromEntries(
      Object.entries(values)
        .filter(([name]) => !CHAT_ONLY.includes(name))
        .map(([name, value]) => [TOKENS.includes(name) ? "max_tokens" : name, value]),
    );
  return { default: own(defaults), force: own(force), max: own(max) };
}

const settable = (params: Record<string, unknown> = {}) =>
  Object.entries(params).filter(([name]) => !OURS.includes(name));

const TOKENS = ["max_tokens", "max_completion_tokens"];

/** All names under which a request may say the same. */
function namesOf(name: string): string[] {
  return TOKENS.includes(name) ? TOKENS : [name];
}

/** A ceiling of tokens holds for requests that name none, too. */
function limit(out: Record<string, unknown>, name: string, most: number): void {
  const names = namesOf(name);
  for (const one of names) if (typeof out[one] === "number" && out[one] > most) out[one] = most;
  if (names === TOKENS && names.every((one) => out[one] == null)) out[name] = most;
}
