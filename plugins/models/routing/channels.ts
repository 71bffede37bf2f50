/** Holds the configured and the built-in channels. A change keeps the state of channels that stay the same. */
import type { ChatProvider } from "portico/provider";
import { Channel } from "./channel.ts";
import type { ChannelServices } from "./channel-services.ts";
import type { Channels } from "../schema.ts";

export interface ChannelSet {
  all(): ReadonlyMap<string, Channel>;
  configure(channels: Channels): void;
  /** Replaces the providers, and updates the built-in channels. */
  provide(providers: readonly ChatProvider[]): void;
  provider(name: string): ChatProvider | undefined;
}

export function createChannelSet(services: ChannelServices = {}): ChannelSet {
  let configured: Channels = {};
  let providers = new Map<string, ChatProvider>();
  let channels = new Map<string, Channel>();

  function rebuild(): void {
    const next = new Map<string, Channel>();
    const addChannel = (name: string, config: Channels[string], builtin: boolean) => {
      const previous = channels.get(name);
      const isSame =
        previous !== undefined &&
        previous.builtin === builtin &&
        JSON.stringify(previous.config) === JSON.stringify(config);
      next.set(name, isSame ? previous : new Channel(name, config, { ...services, builtin }));
    };
    for (const [name, config] of Object.entries(configured))
      addChannel(name, config, providers.get(config.provider)?.builtinChannel === name);
    for (const provider of providers.values()) {
      const name = provider.builtinChannel;
      if (name !== undefined && !next.has(name))
        addChannel(name, { provider: provider.name }, true);
    }
    channels = next;
  }

  return {
    all: () => channels,
    configure(entries) {
      configured = entries;
      rebuild();
    },
    provide(list) {
      // The latest provider of a name wins, as with services.
      providers = new Map(list.map((provider) => [provider.name, provider]));
      rebuild();
    },
    provider: (name) => providers.get(name),
  };
}
