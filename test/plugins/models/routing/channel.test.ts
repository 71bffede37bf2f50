import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { Channel } from "../../../../plugins/models/routing/channel.ts";
import type { Place } from "../../../../plugins/models/routing/limits/places.ts";

function make(config: object = {}) {
  const clock = { now: 1_000_000 };
  return {
    clock,
    channel: new Channel("c", { provider: "openai", ...config }, { now: () => clock.now }),
  };
}
const failOnce = (channel: Channel) => {
  channel.begin("m");
  channel.recordFailure("m", "boom");
};

test("three consecutive failures cause a cooldown of 5 s, and a success in between resets the count", () => {
  const { channel, clock } = make();
  failOnce(channel);
  failOnce(channel);
  channel.begin("m");
  channel.recordSuccess("m", 0, 1);
  failOnce(channel);
  failOnce(channel);
  assert.is(channel.cooldownUntil("m"), 0);
  failOnce(channel);
  assert.is(channel.cooldownUntil("m"), clock.now + 5000);
  assert.is(channel.describe().state, "resting");
});

test("the cooldown ends with one probe; a failed probe doubles it up to 5 min, and a successful one resets it", () => {
  const { channel, clock } = make();
  for (let i = 0; i < 3; i++) failOnce(channel);
  for (const rest of [10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]) {
    clock.now = channel.cooldownUntil("m");
    assert.is(channel.cooldownUntil("m"), 0);
    channel.begin("m");
    assert.not.equal(channel.cooldownUntil("m"), 0, "only one probe at a time");
    channel.recordFailure("m", "boom");
    assert.is(channel.cooldownUntil("m"), clock.now + rest);
  }
  clock.now = channel.cooldownUntil("m");
  channel.begin("m");
  channel.recordSuccess("m", 0, 1);
  assert.is(channel.cooldownUntil("m"), 0);
  failOnce(channel);
  assert.is(channel.cooldownUntil("m"), 0);
});

test("a probe whose caller disconnected releases the slot for the next probe", () => {
  const { channel, clock } = make();
  for (let i = 0; i < 3; i++) failOnce(channel);
  clock.now += 5000;
  channel.begin("m");
  channel.recordNeutral("m");
  assert.is(channel.cooldownUntil("m"), 0);
});

test("keys take turns; a refused key goes into cooldown, and with the last key the channel does", () => {
  const { channel, clock } = make({ apiKey: ["a", "b", "c"] });
  assert.equal(
    [1, 2, 3, 4].map(() => channel.takeKey("m").value),
    ["a", "b", "c", "a"],
  );
  channel.recordRefusedKey(1);
  assert.equal(
    [1, 2, 3].map(() => channel.takeKey("m").value),
    ["c", "a", "c"],
  );
  channel.recordLimitedKey("m", 0, 1000);
  channel.recordLimitedKey("m", 2, 2000);
  assert.is(channel.cooldownUntil("m"), clock.now + 1000);
  assert.is(channel.takeKey("m").value, "a");
  clock.now += 1000;
  assert.is(channel.cooldownUntil("m"), 0);
});

test("an empty key counts as missing", () => {
  for (const apiKey of ["", " ", [], ["", "\t"]]) {
    const { channel } = make({ apiKey });
    assert.equal(
      [channel.takeKey("m").value, channel.keyCount, channel.describe().keys],
      [undefined, 1, 0],
    );
  }
  const { channel } = make({ apiKey: ["", "a", "b"] });
  assert.equal(
    [1, 2, 3].map(() => channel.takeKey("m").value),
    ["a", "b", "a"],
  );
});

test("a cooldown applies to one model, and so does the rate limit of a key", () => {
  const { channel, clock } = make({ apiKey: ["a", "b"] });
  for (let i = 0; i < 3; i++) failOnce(channel);
  assert.is(channel.cooldownUntil("m"), clock.now + 5000);
  assert.is(channel.cooldownUntil("other"), 0);
  assert.equal(channel.describe().restingModels, ["m"]);
  channel.recordLimitedKey("other", 0, 1000);
  assert.equal([channel.takeKey("other").value, channel.takeKey("other").value], ["b", "b"]);
  assert.equal([channel.takeKey("third").value, channel.takeKey("third").value].sort(), ["a", "b"]);
  for (let i = 0; i < 5000; i++) channel.recordFailure(`invented-${i}`, "boom");
  assert.is(channel.describe().state, "failing");
});

test("requests beyond maxConcurrent wait in order for up to queueTimeoutMs", async () => {
  const { channel } = make({ maxConcurrent: 1, queueTimeoutMs: 30 });
  const first = channel.takePlace() as Place;
  const order: string[] = [];
  const second = Promise.resolve(channel.takePlace()).then((place) => {
    order.push("second");
    return place;
  });
  const third = Promise.resolve(channel.takePlace()).then((place) => {
    order.push("third");
    return place;
  });
  first.release();
  const place = await second;
  assert.is(channel.describe().inFlight, 1);
  assert.is(await third, undefined);
  assert.equal(order, ["second", "third"]);
  place?.release();
  place?.release();
  assert.is(channel.describe().inFlight, 0);
});

test("a caller that leaves the queue takes no slot", async () => {
  const { channel } = make({ maxConcurrent: 1, queueTimeoutMs: 10_000 });
  const first = channel.takePlace() as Place;
  const leave = new AbortController();
  const waiting = channel.takePlace(leave.signal);
  leave.abort();
  assert.is(await waiting, undefined);
  first.release();
  assert.not.instance(channel.takePlace(), Promise);
});

test.run();
