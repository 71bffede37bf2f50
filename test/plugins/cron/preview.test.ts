/** The dates of a schedule before it is saved. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";

const test = suite("previews of schedules");
let gateway: InProcessGateway;
test.before(async () => {
  gateway = await startGateway({});
});
test.after(() => gateway.stop());

test("a preview of a cron expression has a description and the next dates in its zone", async () => {
  const schedule = { kind: "cron", expr: "0 8 * * 1", tz: "Europe/Berlin" };
  const { description, timezone, dates } = await gateway.json("POST", "/cron/preview", {
    schedule,
  });
  assert.is(description, "At 08:00, only on Monday");
  assert.is(timezone, "Europe/Berlin");
  assert.is(dates.length, 5);
  for (const date of dates) {
    const local = new Date(date).toLocaleString("en-GB", {
      timeStyle: "short",
      timeZone: timezone,
    });
    assert.is(local, "08:00");
  }
  assert.equal((await gateway.json("GET", "/cron/jobs")).jobs, [], "nothing is kept");
});

test("a preview of an interval has dates, and an invalid schedule gives the place of the error", async () => {
  const { dates } = await gateway.json("POST", "/cron/preview", { schedule: "every 1h" });
  assert.is(Date.parse(dates[1]) - Date.parse(dates[0]), 3_600_000);
  const wrong = await gateway.request("POST", "/cron/preview", {
    schedule: { kind: "cron", expr: "99 * * * *" },
  });
  assert.is(wrong.status, 400);
  const { error } = (await wrong.json()) as { error: { param: string } };
  assert.match(error.param, /^schedule/);
});

test.run();
