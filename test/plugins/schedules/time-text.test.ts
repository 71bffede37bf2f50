import * as assert from "uvu/assert";
import { timeText } from "../../../plugins/schedules/time-text.ts";
import { test } from "../../support/suite.ts";

const now = Date.parse("2027-01-31T06:30:00Z");

test("times are shown in their zone and relative to now", () => {
  const rows: [string | null, string | undefined, string][] = [
    ["2027-02-01T07:00:00.000Z", "Europe/Berlin", "Mon 08:00 Europe/Berlin, in 1 d"],
    ["2027-01-31T06:30:00.400Z", "UTC", "Sun 06:30 UTC, now"],
    ["2027-01-31T06:30:42.000Z", "UTC", "Sun 06:30 UTC, in 42 s"],
    ["2027-01-31T06:29:00.000Z", "Asia/Kathmandu", "Sun 12:14 Asia/Kathmandu, 1 min ago"],
    ["2027-01-31T03:00:00.000Z", "America/New_York", "Sat 22:00 America/New_York, 3 h ago"],
    ["2027-03-28T01:00:00.000Z", "Europe/Berlin", "2027-03-28 03:00 Europe/Berlin, in 55 d"],
    ["2026-01-31T23:30:00.000Z", "Asia/Tokyo", "2026-02-01 08:30 Asia/Tokyo, 364 d ago"],
    [null, "UTC", "-"],
  ];
  for (const [iso, zone, text] of rows) assert.is(timeText(iso, zone, now), text);
  assert.match(timeText("2027-02-01T07:00:00.000Z", undefined, now), /, in 1 d$/);
});

test.run();
