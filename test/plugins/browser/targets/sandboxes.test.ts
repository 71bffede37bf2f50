/** The number of sandboxes, when they are deleted, and remains of an earlier run. */
import { once } from "node:events";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { resolvePaths } from "../../../../kernel/files/paths.ts";
import type { BrowserConfig } from "../../../../plugins/browser/schema.ts";
import { getGatewayName } from "../../../../plugins/browser/drivers/process-record.ts";
import { Sandboxes, type SandboxesOptions } from "../../../../plugins/browser/targets/sandboxes.ts";
import { makeHome } from "../../../support/gateway.ts";
import { headlessBrowser } from "../../../support/machine/prepare.ts";
import { until } from "../../../support/until.ts";
import { silentPort, startBrowser } from "../support.ts";

const home = makeHome("portico-sandboxes-");
const paths = resolvePaths({ home }, {});
const dir = join(home, "sandboxes");
const silent = (): void => {};
const log = { warn: silent, debug: silent, info: silent, error: silent, child: () => log } as never;
const config = {
  ...headlessBrowser,
  enabled: true,
  color: "#000000",
  remoteCdpTimeoutMs: 1500,
  remoteCdpHandshakeTimeoutMs: 3000,
  ssrfPolicy: { hostnameAllowlist: [], allowedHostnames: [] },
  profiles: {},
  snapshotDefaults: {},
  evaluateEnabled: true,
  maxTabs: 5,
  maxDownloadBytes: 1000,
} as unknown as BrowserConfig;
const sandboxManagers: Sandboxes[] = [];

function open(options: Partial<SandboxesOptions> = {}): Sandboxes {
  const sandboxes = new Sandboxes({
    config: () => config,
    sandbox: () => ({ mode: "all", browser: { allowHostControl: false } }),
    dir,
    gateway: "test",
    paths,
    log,
    env: process.env,
    libraryPresent: () => true,
    ownPorts: () => [],
    openDebugging: silentPort,
    ...options,
  });
  sandboxManagers.push(sandboxes);
  return sandboxes;
}
const status = { method: "GET", route: "/" } as const;
const start = { method: "POST", route: "/start" } as const;
const dirs = (): string[] => (existsSync(dir) ? readdirSync(dir) : []);

test.after(async () => {
  await Promise.all(sandboxManagers.map((manager) => manager.close()));
  rmSync(home, { recursive: true, force: true });
});

test("an unused sandbox is deleted with its browser and files", async () => {
  const sandboxes = open({ idleMs: 50 });
  const response = (await sandboxes.request("s", start)) as { body: { pid: number } };
  await until("it to be gone", () => sandboxes.sessions.length === 0);
  await until("its files to be gone", () => dirs().length === 0);
  assert.throws(() => process.kill(response.body.pid, 0), "its browser has ended");
});

test("the least recently used sandbox is deleted for a new one", async () => {
  const sandboxes = open({ maxCount: 2 });
  for (const session of ["a", "b"]) await sandboxes.request(session, status);
  await sandboxes.request("a", status);
  await sandboxes.request("c", status);
  assert.equal(sandboxes.sessions.sort(), ["a", "c"]);
});

test("two simultaneous sandboxes have two ports and two profiles", async () => {
  const sandboxes = open();
  const [one, two] = (await Promise.all(
    ["a", "b"].map((session) => sandboxes.request(session, status)),
  )) as {
    body: { cdpPort: number; userDataDir: string };
  }[];
  assert.is.not(one?.body.cdpPort, two?.body.cdpPort);
  assert.is.not(one?.body.userDataDir, two?.body.userDataDir);
});

test("a port that another program has just taken is not used", async () => {
  const sandboxes = open();
  const port = async (): Promise<number> =>
    ((await sandboxes.request("s", status)) as { body: { cdpPort: number } }).body.cdpPort;
  // A browser of another test may have the port at this moment.
  const other = await until("its port to be free", async () => {
    const server = createServer().listen(await port(), "127.0.0.1");
    return once(server, "listening").then(
      () => server,
      () => undefined,
    );
  });
  const { port: takenPort } = other.address() as AddressInfo;
  try {
    await sandboxes.request("s", start);
    assert.is.not(await port(), takenPort);
  } finally {
    await new Promise((resolve) => other.close(resolve));
  }
});

test("a sandbox that is deleted while its browser starts leaves nothing behind", async () => {
  const sandboxes = open();
  await until("the others' files to be gone", async () => {
    await Promise.all(sandboxManagers.map((manager) => manager.close()));
    return dirs().length === 0;
  });
  const starting = sandboxes.request("s", start).then(
    () => undefined,
    (error: { code?: string }) => error.code,
  );
  await sandboxes.end("s");
  assert.is(await starting, "browser_not_running");
  assert.equal(dirs(), []);
});

test("remains of a killed gateway are removed before the first new sandbox, and nothing of a running gateway is", async () => {
  const kept = `${await getGatewayName()}-0123456789abcdef`;
  const file = (name: string): string =>
    `state/browser-sandboxes/${name}/browser/sandbox/user-data/Cookies`;
  const names = ["old", kept, `${process.pid}.000000000000-0123456789abcdef`];
  const files = Object.fromEntries(names.map((name) => [file(name), "secret"]));
  const browser = await startBrowser({}, { files });
  try {
    const there = (): string[] =>
      readdirSync(join(browser.gateway.home, "state/browser-sandboxes"));
    await until("the others to be removed", () => there().length === 1);
    assert.equal(there(), [kept]);
  } finally {
    await browser.stop();
  }
});

test.run();
