import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { makeHome, type SpawnedGateway, spawnGateway } from "../../../support/gateway.ts";
import { until } from "../../../support/until.ts";
import { headlessBrowser } from "../../../support/machine/prepare.ts";

const test = suite("browser: no process is left behind");
const home = makeHome("portico-browser-");

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    // A zombie waits for its parent only.
    return (
      process.platform !== "linux" ||
      !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))
    );
  } catch {
    return false;
  }
};

/** Uses a browser that the gateway finds itself, without a configured path. */
async function start(): Promise<{ gateway: SpawnedGateway; pid: number }> {
  const gateway = await spawnGateway({
    home,
    config: { browser: { ...headlessBrowser, executablePath: undefined } },
  });
  const response = await gateway.request(
    "POST",
    "/tabs/open",
    { url: "about:blank" },
    { server: "browser" },
  );
  assert.is(response.status, 200, await response.clone().text());
  const status = (await (
    await gateway.request("GET", "/", undefined, { server: "browser" })
  ).json()) as {
    pid: number;
  };
  assert.ok(alive(status.pid));
  return { gateway, pid: status.pid };
}

let running: Awaited<ReturnType<typeof start>>;

test("after kill -9 the browser ends too, and the next start works with the same profile", async () => {
  const { gateway, pid } = await start();
  await gateway.kill("SIGKILL");
  running = await start();
  await until("the first browser to be gone", () => !alive(pid));
  assert.ok(alive(running.pid));
  const record = JSON.parse(
    readFileSync(join(home, "state/browser/portico/browser.json"), "utf8"),
  ) as { pid: number };
  assert.is(record.pid, running.pid);
});

test("SIGTERM ends the gateway and its browser", async () => {
  const { gateway, pid } = running;
  await gateway.kill("SIGTERM");
  assert.is(gateway.child.exitCode, 0, gateway.output());
  await until("the browser to be gone", () => !alive(pid));
});

test("a temporary directory with too long a name for the browser's socket is named as the cause", async () => {
  const long = join(makeHome("portico-long-"), "x".repeat(100));
  mkdirSync(long, { mode: 0o700 });
  const gateway = await spawnGateway({
    config: { browser: headlessBrowser },
    env: { TMPDIR: long },
  });
  try {
    const response = await gateway.request("POST", "/start", {}, { server: "browser" });
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    assert.equal([response.status, error.code], [503, "browser_unavailable"]);
    assert.match(
      error.message,
      /temporary directory is too long for the browser's socket.*shorter TMPDIR/,
    );
  } finally {
    await gateway.kill("SIGTERM");
  }
});

test.run();
