import * as assert from "uvu/assert";
import { formatDuration, parseDuration } from "../../../plugins/schedules/duration.ts";
import { test } from "../../support/suite.ts";

test("durations are read as people write them", () => {
  assert.equal(
    ["30m", "2h", "90s", "1h30m", "1.5h", "250ms", "1500", 1500].map((text) => parseDuration(text)),
    [1_800_000, 7_200_000, 90_000, 5_400_000, 5_400_000, 250, 1500, 1500],
  );
  assert.is(parseDuration("0", "every", 0), 0);
});

test("an invalid duration is refused with the name of its setting", () => {
  for (const text of ["soon", "", "-5m", "1h30"])
    assert.throws(() => parseDuration(text), /is not a duration/);
  for (const none of [0, "0", "0s"]) assert.throws(() => parseDuration(none), /above 0/);
  assert.throws(
    () => parseDuration("soon", "heartbeat.every", 0),
    /heartbeat\.every: "soon" is not.* \(0: never\)/,
  );
});

test("durations are shown in their shortest exact form", () => {
  assert.equal([5_400_000, 250, 0, 90_061_000].map(formatDuration), [
    "1h30m",
    "250ms",
    "0s",
    "1d1h1m1s",
  ]);
});

test.run();
