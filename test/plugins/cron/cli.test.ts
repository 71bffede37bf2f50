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
    const shown = await cli("cron", "show", "report");
    assert.match(shown.stdout, "Europe/Berlin");
    assert.ok((shown.stdout.match(/ 08:00 Europe\/Berlin, in \d+ /g) ?? []).length >= 5, shown.stdout);
    const edited = await cli("cron", "edit", "report", "--every", "2h", "--missed", "run-once", "--json");
    assert.equal(JSON.parse(edited.stdout).schedule, { kind: "every", everyMs: 7_200_000 });
    const run = await cli("cron", "run", "report");
    assert.match(run.stdout, "turn_cron_");
    assert.match((await cli("cron", "runs", "report")).stdout, "manual");
    await gateway.json("DELETE", "/cron/jobs/report");
    const gone = await cli("cron", "rm", "report");
    assert.is(gone.code, 1);
    assert.match(gone.stderr, "no cron job");
    const nothing = await cli("cron", "add", "x");
    assert.is(nothing.code, 1);
    assert.match(nothing.stderr, "--cron EXPR, --every TIME or --at DATE");
  } finally {
    await gateway.stop();
  }
});

test.run();
