/**
 * `portico/chat`: all of `portico/provider` and `portico/models` under the name that plugins of users have imported.
 * @deprecated Import from `portico/provider` what a provider is made of, and from `portico/models` what asks models.
 */
export * from "portico/provider";
export * from "portico/models";

declare module "portico" {
  interface HookContext {
    /** Asks a model: a text, a list of messages, or a whole chat request. Resolves with the text. */
    chat(input: string | readonly object[] | Record<string, unknown>): Promise<string>;
  }
}
