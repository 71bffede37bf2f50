/**
 * `portico/chat`: all of `portico/provider` and `portico/models`, under the name that users' plugins import.
 * @deprecated To write a provider, import from `portico/provider`; to ask models, import from `portico/models`.
 */
export * from "portico/provider";
export * from "portico/models";

declare module "portico" {
  interface HookContext {
    /** Asks a model: a text, a list of messages, or a whole chat request. Resolves with the text. */
    chat(input: string | readonly object[] | Record<string, unknown>): Promise<string>;
  }
}
