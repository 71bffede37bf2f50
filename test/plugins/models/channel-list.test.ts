/** The list of channels where several workers share the requests. */
import * as assert from "uvu/assert";
import { channelNotices, describeEverywhere } from "../../../plugins/models/channel-routes.ts";
import type { ChannelState } from "../../../plugins/models/routing/channel-state.ts";
import { test } from "../../support/suite.ts";

const well: ChannelState = {
  state: "ok",
  failures: 0,
  inFlight: 0,
  queued: 0,
  keys: 1,
  restingKeys: 0,
  requests: 3,
  errors: 0,
};
const channel = {
  name: "one",
  config: { provider: "echo" },
  enabled: true,
  describe: () => ({ ...well }),
};
const engine = {
  routing: { channels: () => new Map([["one", channel]]) },
  budgets: { check: async () => undefined },
  provider: () => ({}),
} as unknown as Parameters<typeof describeEverywhere>[0];
const workersWith = (...others: object[]) =>
  ({
    askAll: async () => others.map((other) => [{ ...well, name: "one", ...other }]),
  }) as unknown as Parameters<typeof describeEverywhere>[1];

test("the list shows the worst state of all workers, and the status agrees", async () => {
  const failing = { state: "failing", problem: "the last request for m failed: no" };
  const resting = { state: "resting", problem: "m is in cooldown: no", restingModels: ["m"] };
  for (const workers of [workersWith({}, failing, resting), workersWith(resting, failing)]) {
    const { channels } = await describeEverywhere(engine, workers);
    assert.equal(
      channels.map(({ state, problem, restingModels }) => [state, problem, restingModels]),
      [["resting", "m is in cooldown: no", ["m"]]],
    );
    assert.equal(await channelNotices(engine, workers), ["one: m is in cooldown: no"]);
  }
  const { channels } = await describeEverywhere(engine, workersWith({ requests: 4, errors: 1 }));
  assert.equal([channels[0]?.state, channels[0]?.requests, channels[0]?.errors], ["ok", 7, 1]);
  assert.equal(await channelNotices(engine, workersWith({})), []);
});

test.run();
