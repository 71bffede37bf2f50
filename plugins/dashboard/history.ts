/** Records the channels' latency and errors of the last hour for the plots, since the channels hold only current values. */
import type { ChannelStatus } from "portico/models";

/** The history has one step per minute, for an hour. */
export const STEP_MS = 60_000;
const STEPS = 60;

/** One value per step, oldest first. In a `HistoryReading`, the last value is that of the current step. */
interface ChannelHistory {
  /** Milliseconds; null before the first use of the channel. */
  latency: (number | null)[];
  /** The number of attempts that failed within the step. */
  failed: number[];
}

interface RecordedChannel extends ChannelHistory {
  /** The channel's error count at the end of the last step. */
  errors: number;
}

/** The response of the route. */
export interface HistoryReading {
  stepMs: number;
  channels: Record<string, ChannelHistory>;
}

/** A history in the store, which outlives the process. */
export interface SavedHistory {
  /** The end of its last step, in milliseconds since 1970. */
  at: number;
  channels: Record<string, ChannelHistory>;
}

export interface History {
  /** Ends a step. */
  sample(): void;
  /** Returns the completed steps. */
  steps(): Record<string, ChannelHistory>;
  /** Returns the completed steps and the current one. */
  read(): HistoryReading;
}

/**
 * Returns the steps of an earlier run of the gateway, followed by an empty step for each one in which the gateway was down.
 * Steps older than the length of the history are left out.
 */
export function resumeHistory(
  { at, channels }: SavedHistory,
  now: number,
): Record<string, ChannelHistory> {
  const missed = Math.max(0, Math.round((now - at) / STEP_MS));
  if (missed >= STEPS) return {};
  const pad = <T>(values: readonly T[], value: T): T[] =>
    [...values, ...Array.from({ length: missed }, () => value)].slice(-STEPS);
  return Object.fromEntries(
    Object.entries(channels).map(([name, { latency, failed }]) => [
      name,
      { latency: pad(latency, null), failed: pad(failed, 0) },
    ]),
  );
}

/** Merges this worker's history with those of the others: adds the failures, and takes the first known latency. */
export function mergeHistories(
  own: HistoryReading,
  others: readonly HistoryReading[],
): HistoryReading {
  const all = [own, ...others];
  const channels = Object.keys(own.channels).map((name): [string, ChannelHistory] => {
    const histories = all.flatMap(({ channels }) => channels[name] ?? []);
    const steps = Math.max(...histories.map(({ failed }) => failed.length));
    // All histories end with the current step. That of a worker that was replaced begins later.
    const valueAt = <T>(values: readonly T[], step: number): T | undefined =>
      values[values.length - steps + step];
    const forEachStep = <T>(value: (step: number) => T): T[] =>
      Array.from({ length: steps }, (_, step) => value(step));
    return [
      name,
      {
        latency: forEachStep(
          (step) =>
            histories.map(({ latency }) => valueAt(latency, step)).find((value) => value != null) ??
            null,
        ),
        failed: forEachStep((step) =>
          histories.reduce((sum, { failed }) => sum + (valueAt(failed, step) ?? 0), 0),
        ),
      },
    ];
  });
  return { stepMs: own.stepMs, channels: Object.fromEntries(channels) };
}

/** `earlier` holds the steps before this start, which `resumeHistory` returns. */
export function createHistory(
  list: () => readonly ChannelStatus[],
  earlier: Record<string, ChannelHistory> = {},
): History {
  // The channels were created at this start, so their errors count from zero.
  let recorded = new Map<string, RecordedChannel>(
    Object.entries(earlier).map(([name, history]) => [name, { ...history, errors: 0 }]),
  );

  const failedSince = ({ name, errors }: ChannelStatus): number => {
    const before = recorded.get(name)?.errors ?? 0;
    // A channel with fewer errors than before was recreated, and counts from zero.
    return errors >= before ? errors - before : errors;
  };

  return {
    sample() {
      const next = new Map<string, RecordedChannel>();
      for (const channel of list()) {
        const { latency = [], failed = [] } = recorded.get(channel.name) ?? {};
        latency.push(channel.latencyMs ?? null);
        failed.push(failedSince(channel));
        if (latency.length > STEPS) {
          latency.shift();
          failed.shift();
        }
        next.set(channel.name, { latency, failed, errors: channel.errors });
      }
      recorded = next;
    },
    steps() {
      const steps = [...recorded].map(([name, { latency, failed }]) => [name, { latency, failed }]);
      return Object.fromEntries(steps) as Record<string, ChannelHistory>;
    },
    read() {
      const channels = list().map((channel): [string, ChannelHistory] => {
        const { latency = [], failed = [] } = recorded.get(channel.name) ?? {};
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
