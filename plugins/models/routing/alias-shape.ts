/** Applies the settings of an alias (`params`, `system`) to a request on its way to the alias's targets. */
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
  /** The refusals after which the next target is tried: an error, a request that is too long, or filtered content. */
  readonly fallbackOn: ReadonlySet<"error" | "context_length" | "content_filter">;
  readonly cache: ResponseCache | undefined;
}

type Settings = Exclude<AliasConfig, string>;
type Params = NonNullable<Settings["params"]>;

const shapes = new WeakMap<Settings, AliasShape>();
/** The gateway sets these members itself, so an alias cannot set them. */
const RESERVED_MEMBERS = ["model", "models", "messages", "stream", "stream_options"];
/** Members that `/v1/completions` lacks, or has in another form. */
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

/** Returns undefined if the alias has only targets. */
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
          : (request) => applySettings(request, alias),
      completion: params && ((members) => applyParams(members, completionParams(params))),
      fallbackOn: new Set(fallbackOn),
      cache: cache && new ResponseCache(cache),
    };
    shapes.set(alias, shape);
  }
  return shape;
}

function applySettings(request: ChatRequest, { params, system }: Settings): ChatRequest {
  const changed = applyParams(request, params) as ChatRequest;
  return system === undefined
    ? changed
    : { ...changed, messages: prependSystem(system, request.messages) };
}

/** Prepends the system message. Headers and errors still name each message by its place in the client's request. */
function prependSystem(system: string, messages: readonly ChatMessage[]): ChatMessage[] {
  const systemMessage = withSource({ role: "system", content: system }, "system", {
    content: "system",
  });
  return [systemMessage, ...(rememberPlaces(messages as RuleMessage[]) as ChatMessage[])];
}

function applyParams(
  request: Record<string, unknown>,
  params: Params | undefined,
): Record<string, unknown> {
  const out = { ...request };
  for (const [name, value] of settableEntries(params?.default)) {
    if (namesOf(name).every((synonym) => out[synonym] == null)) out[name] = value;
  }
  for (const [name, value] of settableEntries(params?.force)) {
    for (const synonym of namesOf(name)) delete out[synonym];
    out[name] = value;
  }
  for (const [name, maximum] of Object.entries(params?.max ?? {})) applyMaximum(out, name, maximum);
  return out;
}

/** Selects the parameters that `/v1/completions` has as well, and renames the token limit to its `max_tokens`. */
function completionParams({ default: defaults, force, max }: Params): Params {
  const select = <T>(values: Record<string, T> = {}): Record<string, T> =>
    Object.fromEntries(
      Object.entries(values)
        .filter(([name]) => !CHAT_ONLY.includes(name))
        .map(([name, value]) => [TOKEN_LIMITS.includes(name) ? "max_tokens" : name, value]),
    );
  return { default: select(defaults), force: select(force), max: select(max) };
}

const settableEntries = (params: Record<string, unknown> = {}) =>
  Object.entries(params).filter(([name]) => !RESERVED_MEMBERS.includes(name));

const TOKEN_LIMITS = ["max_tokens", "max_completion_tokens"];

/** All names under which a request may set the same parameter. */
function namesOf(name: string): string[] {
  return TOKEN_LIMITS.includes(name) ? TOKEN_LIMITS : [name];
}

/** Applies a maximum. One for tokens also applies to requests that set no limit of tokens. */
function applyMaximum(out: Record<string, unknown>, name: string, maximum: number): void {
  const names = namesOf(name);
  for (const synonym of names)
    if (typeof out[synonym] === "number" && out[synonym] > maximum) out[synonym] = maximum;
  if (names === TOKEN_LIMITS && names.every((synonym) => out[synonym] == null)) out[name] = maximum;
}
