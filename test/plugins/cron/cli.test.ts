/** The command line: the first command as a process of its own, the others in this one. */
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { startGateway } from "../../support/gateway.ts";
import { portico, porticoHere } from "../../support/portico.ts";

test("portico cron", async () => {
  const gateway = await startGateway({ config: { agents: { defaults: { model: "echo" } } } });
  const cli = (...words: string[]) => porticoHere(gateway.home, words);
  try {
    const added = await portico(gateway.home, [
      "cron",
      "add",
      "report",
      "--cron",
      "0 8 * * 1-5",
      "--tz",
      "Europe/Berlin",
      "--message",
      "report",
      "--timeout",
      "5m",
      "--json",
    ]);
    assert.is(added.code, 0, added.stderr);
    const job = JSON.parse(added.stdout);
    assert.equal(job.schedule, { kind: "cron", expr: "0 8 * * 1-5", tz: "Europe/Berlin" });
    assert.is(job.timeoutMs, 300_000);
    const details = await cli("cron", "show", "report");
    assert.match(details.stdout, "Europe/Berlin");
    assert.ok(
      (details.stdout.match(/ 08:00 Europe\/Berlin, in \d+ /g) ?? []).length >= 5,
      details.stdout,
    );
    const edited = await cli(
      "cron",
      "edit",
      "report",
      "--every",
      "2h",
      "--missed",
      "run-once",
      "--json",
    );
    assert.equal(JSON.parse(edited.stdout).schedule, { kind: "every", everyMs: 7_200_000 });
    await cli("cron", "edit", "report", "--cron", "0 8 * * 1-5", "--tz", "Europe/Berlin");
    for (const [words, at] of [
      [["--cron", "0 9 * * *"], { expr: "0 9 * * *", tz: "Europe/Berlin", message: "report" }],
      [["--tz", "Europe/Paris"], { expr: "0 9 * * *", tz: "Europe/Paris", message: "report" }],
      [["--schedule", "0 7 * * *", "--tz", "Asia/Tokyo"], { expr: "0 7 * * *", tz: "Asia/Tokyo" }],
      [
        ["--schedule", "2031-01-31 09:00", "--tz", "Europe/Berlin"],
        { at: "2031-01-31T08:00:00.000Z" },
      ],
      [
        ["--session", "reports", "--announce"],
        { message: "report", session: "reports", delivery: "announce" },
      ],
      [
        ["--message", "new task", "--model", "echo"],
        { message: "new task", session: "reports", delivery: "announce" },
      ],
      [
        ["--no-announce"],
        { message: "new task", session: "reports", model: "echo", delivery: "none" },
      ],
    ] as const) {
      const { stdout, stderr } = await cli("cron", "edit", "report", "--json", ...words);
      const { schedule, payload } = stderr ? assert.unreachable(stderr) : JSON.parse(stdout);
      const now = { ...schedule, ...payload };
      assert.equal({ ...now, ...at }, now, words.join(" "));
    }
    const event = await cli("cron", "edit", "report", "--text", "an event", "--json");
    assert.equal(JSON.parse(event.stdout).payload, { kind: "systemEvent", text: "an event" });
    const woken = await cli("cron", "edit", "report", "--now", "--json");
    assert.equal(JSON.parse(woken.stdout).payload, {
      kind: "systemEvent",
      text: "an event",
      mode: "now",
    });
    const misfit = await cli("cron", "edit", "report", "--session", "s");
    assert.equal(
      [misfit.code, /payload\.session is not a known key/.test(misfit.stderr)],
      [1, true],
      misfit.stderr,
    );
    await cli("cron", "edit", "report", "--message", "report");
    const zone = await cli("cron", "add", "x", "--tz", "UTC", "--text", "a");
    assert.equal(
      [zone.code, /--cron EXPR, --every TIME or --at DATE/.test(zone.stderr)],
      [1, true],
      zone.stderr,
    );
    const run = await cli("cron", "run", "report");
    assert.match(run.stdout, "turn_cron_");
    assert.match((await cli("cron", "runs", "report")).stdout, "manual");
    await gateway.json("DELETE", "/cron/jobs/report");
    const removed = await cli("cron", "rm", "report");
    assert.is(removed.code, 1);
    assert.match(removed.stderr, "no cron job");
    const nothing = await cli("cron", "add", "x");
    assert.is(nothing.code, 1);
    assert.match(nothing.stderr, "--cron EXPR, --every TIME or --at DATE");
  } finally {
    await gateway.stop();
  }
});

test.run();
