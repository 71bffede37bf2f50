/** The channels over the last hour, for the plots: the channels themselves only know their present. */
import type { ChannelStatus } from "portico/models";

/** One step a minute, for an hour. */
export const STEP_MS = 60_000;
const KEEP = 60;

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

/** What the route answers. */
export interface Read {
  stepMs: number;
  channels: Record<string, ChannelHistory>;
}

/** A history as it is kept while the gateway is down. */
export interface SavedHistory {
  /** When its last step ended, ms. */
  at: number;
  channels: Record<string, ChannelHistory>;
}

export interface History {
  /** Ends a step. */
  sample(): void;
  /** The steps that have ended. */
  steps(): Record<string, ChannelHistory>;
  read(): Read;
}

/**
 * The steps of an earlier run of the gateway, followed by one without a value for each step in which it was down. Returns
 * nothing of what is older than the history is long.
 */
export function resumed(
  { at, channels }: SavedHistory,
  now: number,
): Record<string, ChannelHistory> {
  const missed = Math.max(0, Math.round((now - at) / STEP_MS));
  if (missed >= KEEP) return {};
  const pad = <T>(values: readonly T[], value: T): T[] =>
    [...values, ...Array.from({ length: missed }, () => value)].slice(-KEEP);
  return Object.fromEntries(
    Object.entries(channels).map(([name, { latency, failed }]) => [
      name,
      { latency: pad(latency, null), failed: pad(failed, 0) },
    ]),
  );
}

/** This worker's with those of the others: failures of all, and the latency that the first one knows of. */
export function mergeHistories(own: Read, others: readonly Read[]): Read {
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

/** `earlier`: the steps before this start, as `resumed` returns them. */
export function createHistory(
  list: () => readonly ChannelStatus[],
  earlier: Record<string, ChannelHistory> = {},
): History {
  // The channels have been created since, and count their errors from zero.
  let known = new Map<string, Known>(
    Object.entries(earlier).map(([name, history]) => [name, { ...history, errors: 0 }]),
  );

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
    steps() {
      const steps = [...known].map(([name, { latency, failed }]) => [name, { latency, failed }]);
      return Object.fromEntries(steps) as Record<string, ChannelHistory>;
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
      return { stepMs: STEP_MS, channels: Object.fromEntries(channels) };
    },
  };
}
