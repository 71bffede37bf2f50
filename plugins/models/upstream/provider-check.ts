/** Validates a provider that a plugin contributes, before it replaces a working one. */
import type { ChatProvider, WireProvider } from "portico/provider";

type Kind = "function" | "string" | "boolean" | "object";
type Kinds<T> = { [K in Exclude<keyof T, "name">]-?: Kind };

const PROVIDER: Kinds<ChatProvider> = {
  description: "string",
  defaultBaseUrl: "string",
  builtinChannel: "string",
  composite: "boolean",
  sends: "boolean",
  complete: "function",
  stream: "function",
  wire: "object",
  secrets: "function",
  models: "function",
};

const WIRE: Kinds<WireProvider> = {
  rules: "object",
  encode: "function",
  passThrough: "function",
  decode: "function",
  parts: "function",
  decoder: "function",
  credential: "function",
  error: "function",
  native: "object",
  listModels: "object",
  signsReasoning: "function",
  streamUsage: "boolean",
  routes: "object",
  embeddings: "object",
  countTokens: "object",
};

/** Returns why the provider is invalid, or undefined. An undefined member counts as missing. */
export function findProviderFault(provider: ChatProvider): string | undefined {
  const { complete, stream, wire } = provider;
  if ((complete ?? stream ?? wire) == null)
    return "it has none of `complete`, `stream` and `wire`, so it cannot respond";
  const fault = findFault(provider, PROVIDER) ?? (wire && findFault(wire, WIRE, "wire."));
  if (fault !== undefined) return fault;
  const missing =
    wire && (["encode", "error"] as const).find((member) => wire[member] === undefined);
  return missing && `its \`wire.${missing}\` must be a function`;
}

function findFault<T extends object>(value: T, kinds: Kinds<T>, prefix = ""): string | undefined {
  for (const [member, kind] of Object.entries<Kind>(kinds)) {
    const actual = (value as Record<string, unknown>)[member];
    if (actual === undefined || (typeof actual === kind && actual !== null)) continue;
    return `its ${prefix}${member} must be ${kind === "object" ? "an" : "a"} ${kind}`;
  }
  return undefined;
}
