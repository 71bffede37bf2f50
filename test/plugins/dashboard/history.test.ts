import type { ChannelStatus } from "portico/models";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { createHistory, merged } from "../../../plugins/dashboard/history.ts";

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

test("a step a sample, and the one under way", () => {
  let now = [channel(0)];
  const history = createHistory(1000, () => now);
  history.sample();
  now = [channel(2, 5)];
  assert.equal(history.read(), {
    stepMs: 1000,
    channels: { c: { latency: [null, 5], failed: [0, 2] } },
  });
  history.sample();
  assert.equal(history.read().channels["c"], { latency: [null, 5, 5], failed: [0, 2, 0] });
});

test("a channel that was made anew counts from its start; one that went is forgotten", () => {
  let now = [channel(7)];
  const history = createHistory(1000, () => now);
  history.sample();
  now = [channel(1)];
  history.sample();
  assert.equal(history.read().channels["c"]?.failed, [7, 1, 0]);
  now = [];
  history.sample();
  assert.equal(history.read().channels, {});
});

test("keeps an hour, not more", () => {
  const history = createHistory(1000, () => [channel(0, 1)]);
  for (let i = 0; i < 500; i++) history.sample();
  assert.is(history.read().channels["c"]?.latency.length, 361);
});

test("of several workers: failures of all, one that began later among them", () => {
  const read = (latency: (number | null)[], failed: number[]) => ({
    stepMs: 1000,
    channels: { c: { latency, failed } },
  });
  const others = [
    read([9], [4]),
    read([7, 8, 9, 10], [1, 0, 0, 2]),
    { stepMs: 1000, channels: {} },
  ];
  assert.equal(merged(read([null, 5], [0, 3]), others), read([7, 8, 9, 5], [1, 0, 0, 9]));
  assert.equal(merged(read([null, 5], [0, 3]), []), read([null, 5], [0, 3]));
});

test.run();
