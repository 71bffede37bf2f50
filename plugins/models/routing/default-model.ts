/** Selects the model of a request that names none. */
import type { ChatProvider } from "portico/provider";
import type { Channel } from "./channel.ts";
import { type Listings, namesOf } from "./models.ts";
import { errors } from "../errors.ts";

// cspell:ignore transcri
/** Upstreams also list these models, which are not for chat, and often list them first. */
const NO_CHAT =
  /embed|whisper|transcri|tts|dall-e|image|moderation|rerank|realtime|audio|davinci-|babbage-/i;

/** Returns the first model that is for chat, judged by its name, or else the first of all. */
export function firstChatModel(names: readonly string[]): string | undefined {
  return names.find((name) => !NO_CHAT.test(name)) ?? names[0];
}

export interface DefaultModelOptions {
  listings: Listings;
  provider(name: string): ChatProvider | undefined;
  /** Considers only this channel. */
  channel?: string | undefined;
}

/**
 * Returns the first model of the channel of the highest priority, as `<channel>/<model>`; among equals, the first in
 * the configuration. Returns `undefined` if no channel is configured. Throws `upstream_error`, which may pass, if no
 * enabled channel lists a model, and `model_not_found` if all are disabled.
 */
export async function defaultModel(
  channels: Iterable<Channel>,
  options: DefaultModelOptions,
): Promise<string | undefined> {
  const configured = [...channels].filter(({ name, builtin, config }) =>
    options.channel === undefined
      ? !builtin && options.provider(config.provider)?.composite !== true
      : name === options.channel,
  );
  if (configured.length === 0) return undefined;
  const enabled = configured
    .filter((channel) => channel.enabled)
    .sort((a, b) => b.priority - a.priority);
  for (const channel of enabled) {
    const names = await namesOf(channel, options);
    const name = firstChatModel(names);
    if (name !== undefined) return name;
  }
  if (enabled.length === 0) throw errors.allChannelsDisabled();
  const channelNames = enabled.map(({ name }) => name).join(", ");
  throw errors.noModelListed({ channels: channelNames });
}
