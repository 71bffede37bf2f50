import type { ChannelStatus } from "portico/models";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import {
  createHistory,
  mergeHistories,
  resumeHistory,
  STEP_MS,
} from "../../../plugins/dashboard/history.ts";

const channel = (errors: number, latencyMs?: number): ChannelStatus => ({
  name: "c",
  provider: "echo",
  state: "ok",
  failures: 0,
  inFlight: 0,
  queued: 0,
  requests: 0,
  errors,
  ...(latencyMs !== undefined && { latencyMs }),
});

test("each step adds a sample, and the current one is included", () => {
  let now = [channel(0)];
  const history = createHistory(() => now);
  history.sample();
  now = [channel(2, 5)];
  assert.equal(history.read(), {
    stepMs: STEP_MS,
    channels: { c: { latency: [null, 5], failed: [0, 2] } },
  });
  history.sample();
  assert.equal(history.read().channels["c"], { latency: [null, 5, 5], failed: [0, 2, 0] });
});

test("a channel that was created again counts from its start; a removed one is forgotten", () => {
  let now = [channel(7)];
  const history = createHistory(() => now);
  history.sample();
  now = [channel(1)];
  history.sample();
  assert.equal(history.read().channels["c"]?.failed, [7, 1, 0]);
  now = [];
  history.sample();
  assert.equal(history.read().channels, {});
});

test("after a restart the history continues with the stored samples, and has a gap for the time between", () => {
  const now = 1_800_000_000_000;
  const saved = { at: now - 2 * STEP_MS, channels: { c: { latency: [3, 4], failed: [0, 1] } } };
  const history = createHistory(() => [channel(2, 5)], resumeHistory(saved, now));
  assert.equal(history.read().channels["c"], {
    latency: [3, 4, null, null, 5],
    failed: [0, 1, 0, 0, 2],
  });
  assert.equal(resumeHistory({ ...saved, at: now - 61 * STEP_MS }, now), {});
  const whole = { latency: Array(60).fill(1), failed: Array(60).fill(0) };
  assert.is(resumeHistory({ ...saved, channels: { c: whole } }, now)["c"]?.latency.length, 60);
});

test("the history covers one hour and no more", () => {
  const history = createHistory(() => [channel(0, 1)]);
  for (let i = 0; i < 500; i++) history.sample();
  assert.is(history.read().channels["c"]?.latency.length, 61);
});

test("the history of several workers includes the failures of all, even of a worker that started later", () => {
  const read = (latency: (number | null)[], failed: number[]) => ({
    stepMs: 1000,
    channels: { c: { latency, failed } },
  });
  const others = [
    read([9], [4]),
    read([7, 8, 9, 10], [1, 0, 0, 2]),
    { stepMs: 1000, channels: {} },
  ];
  assert.equal(mergeHistories(read([null, 5], [0, 3]), others), read([7, 8, 9, 5], [1, 0, 0, 9]));
  assert.equal(mergeHistories(read([null, 5], [0, 3]), []), read([null, 5], [0, 3]));
});

test.run();
