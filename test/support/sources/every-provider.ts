/** A gateway with a channel for each provider, each with its own fake upstream, for tests of all providers. */
import { type InProcessGateway, startGateway } from "../gateway.ts";
import {
  type Dialect,
  dialects,
  type FakeProvider,
  startProvider,
  type Step,
} from "../upstreams/index.ts";

export interface ProviderUnderTest {
  dialect: Dialect;
  fake: FakeProvider;
  /** The model's name for clients. */
  model: string;
  /** Clears the recorded requests, and sets the reaction to the next ones. */
  script(next: Step): void;
}

export interface EveryProvider {
  gateway: InProcessGateway;
  ways: Map<string, ProviderUnderTest>;
  stop(): Promise<void>;
}

export const names = dialects.map((dialect) => dialect.name);

export async function startEveryProvider(): Promise<EveryProvider> {
  const ways = new Map<string, ProviderUnderTest>();
  const channels: Record<string, unknown> = {};
  for (const dialect of dialects) {
    const fake = await startProvider(dialect);
    channels[dialect.name] = { maxRetries: 0, ...dialect.channel(fake.root) };
    const script = (next: Step) => {
      fake.views.length = 0;
      fake.seen.length = 0;
      fake.next = next;
    };
    ways.set(dialect.name, { dialect, fake, model: `${dialect.name}/${dialect.model}`, script });
  }
  const gateway = await startGateway({ config: { channels } });
  return {
    gateway,
    ways,
    async stop() {
      await gateway.stop();
      for (const { fake } of ways.values()) await fake.close();
    },
  };
}
