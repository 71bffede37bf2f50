/** Checks a provider that a plugin contributes, before it replaces one that works. */
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

/** A member that is undefined is one that it has not. */
export function whyUnfitProvider(provider: ChatProvider): string | undefined {
  const { complete, stream, wire } = provider;
  if ((complete ?? stream ?? wire) == null)
    return "it has neither complete, stream nor wire, so it cannot respond";
  const why = whyUnfit(provider, PROVIDER) ?? (wire && whyUnfit(wire, WIRE, "wire."));
  if (why !== undefined) return why;
  const lacks = wire && (["encode", "error"] as const).find((member) => wire[member] === undefined);
  return lacks && `its wire.${lacks} must be a function`;
}

function whyUnfit<T extends object>(value: T, kinds: Kinds<T>, prefix = ""): string | undefined {
  for (const [member, kind] of Object.entries<Kind>(kinds)) {
    const one = (value as Record<string, unknown>)[member];
    if (one === undefined || (typeof one === kind && one !== null)) continue;
    return `its ${prefix}${member} must be ${kind === "object" ? "an" : "a"} ${kind}`;
  }
  return undefined;
}
