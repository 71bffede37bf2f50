/** The channels over the last hour, for the plots: the channels themselves only know their present. */
import type { ChannelStatus } from "portico/models";

const KEEP = 360;

/** One value a step, oldest first, the step that is under way last. */
interface ChannelHistory {
  /** Milliseconds; null before the channel was ever used. */
  latency: (number | null)[];
  /** Attempts that failed within the step. */
  failed: number[];
}

interface Known extends ChannelHistory {
  errors: number;
}

/** What is answered. */
export interface Read {
  stepMs: number;
  channels: Record<string, ChannelHistory>;
}

export interface History {
  /** Ends a step. */
  sample(): void;
  read(): Read;
}

/** This worker's with those of the others: failures of all, and the latency that the first one knows of. */
export function merged(own: Read, others: readonly Read[]): Read {
  const all = [own, ...others];
  const channels = Object.keys(own.channels).map((name): [string, ChannelHistory] => {
    const each = all.flatMap(({ channels }) => channels[name] ?? []);
    const steps = Math.max(...each.map(({ failed }) => failed.length));
    // All end with the step that is under way; one that was replaced begins later.
    const at = <T>(values: readonly T[], step: number): T | undefined =>
      values[values.length - steps + step];
    const over = <T>(value: (step: number) => T): T[] =>
      Array.from({ length: steps }, (_, step) => value(step));
    return [
      name,
      {
        latency: over(
          (step) => each.map(({ latency }) => at(latency, step)).find((one) => one != null) ?? null,
        ),
        failed: over((step) => each.reduce((sum, { failed }) => sum + (at(failed, step) ?? 0), 0)),
      },
    ];
  });
  return { stepMs: own.stepMs, channels: Object.fromEntries(channels) };
}

export function createHistory(stepMs: number, list: () => readonly ChannelStatus[]): History {
  let known = new Map<string, Known>();

  const failedSince = ({ name, errors }: ChannelStatus): number => {
    const before = known.get(name)?.errors ?? 0;
    // Fewer errors than before: the channel was recreated and counts from zero.
    return errors >= before ? errors - before : errors;
  };

  return {
    sample() {
      const next = new Map<string, Known>();
      for (const channel of list()) {
        const { latency = [], failed = [] } = known.get(channel.name) ?? {};
        latency.push(channel.latencyMs ?? null);
        failed.push(failedSince(channel));
        if (latency.length > KEEP) {
          latency.shift();
          failed.shift();
        }
        next.set(channel.name, { latency, failed, errors: channel.errors });
      }
      known = next;
    },
    read() {
      const channels = list().map((channel): [string, ChannelHistory] => {
        const { latency = [], failed = [] } = known.get(channel.name) ?? {};
        return [
          channel.name,
          {
            latency: [...latency, channel.latencyMs ?? null],
            failed: [...failed, failedSince(channel)],
          },
        ];
      });
      return { stepMs, channels: Object.fromEntries(channels) };
    },
  };
}
