/** Debugging ports are chosen from a range that all gateways of a machine share: another program may be faster. */
import { once } from "node:events";
import { rmSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { PorticoError } from "portico";
import { createGuard } from "portico/egress";
import { attach, type DriverDeps } from "../../../../plugins/browser/drivers/attach.ts";
import type { OpenDebuggingServer } from "../../../../plugins/browser/drivers/debugging/server.ts";
import { type Profile, Profiles } from "../../../../plugins/browser/profiles.ts";
import type { BrowserConfig } from "../../../../plugins/browser/schema.ts";
import { freePort } from "../../../support/free-port.ts";
import { makeHome } from "../../../support/gateway.ts";
import { headlessBrowser } from "../../../support/machine/prepare.ts";

const home = makeHome("portico-ports-");
const holders: Server[] = [];

/** Another program's port. */
async function hold(port = 0, host = "127.0.0.1"): Promise<number> {
  const server = createServer().listen(port, host);
  await once(server, "listening");
  holders.push(server);
  return (server.address() as AddressInfo).port;
}

test.after(async () => {
  await Promise.all(holders.map((server) => new Promise((resolve) => server.close(resolve))));
  rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

const profilesIn = (dir: string): Profiles =>
  new Profiles({
    config: () =>
      ({ color: "#000000", profiles: { a: {}, b: {}, c: {} } }) as unknown as BrowserConfig,
    dir: join(home, dir),
    trash: join(home, "trash"),
    relayUrl: () => "http://127.0.0.1:0",
  });

test("the second of two profiles created at once with the same name is refused", async () => {
  const profiles = profilesIn("made");
  await profiles.all();
  const results = await Promise.allSettled(
    ["work", "Work"].map((name) => profiles.create(name, {})),
  );
  assert.equal(
    results.map((result) =>
      result.status === "fulfilled" ? result.value.name : result.reason.code,
    ),
    ["work", "conflict"],
  );
});

test("profiles that request ports at once receive different ones", async () => {
  const profiles = profilesIn("profiles");
  const managed = [...(await profiles.all()).values()].filter(({ driver }) => driver === "managed");
  const requests = [...managed, ...managed];
  const ports = await Promise.all(requests.map((profile) => profiles.port(profile)));
  assert.is(new Set(ports).size, 4);
  assert.equal(ports.slice(0, 4), ports.slice(4));
});

/** As the plugin's: it listens, or says that somebody else does. */
const openDebugging: OpenDebuggingServer = async (port) => {
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening").catch((cause: unknown) => {
    throw new PorticoError("port_in_use", "taken", { cause });
  });
  return { port, serve() {}, close: () => new Promise((resolve) => server.close(() => resolve())) };
};

test("a profile's browser goes on to the next port, however many others start at once", async () => {
  const [first, second] = [await hold(), await freePort()];
  const profiles = [...Array(20).fill(first), second];
  const silent = (): void => {};
  const deps = {
    config: () => headlessBrowser,
    profiles: { launchPort: async () => profiles.shift() },
    guard: createGuard({ policy: () => ({ allowPrivate: true }), ownPorts: () => [] }),
    log: { warn: silent, debug: silent, info: silent, error: silent },
    env: process.env,
    openDebugging,
  } as unknown as DriverDeps;
  const profile: Profile = {
    name: "p",
    driver: "managed",
    color: "#000000",
    source: "created",
    dir: join(home, "p"),
  };
  const attachment = await attach(profile, deps, {});
  assert.is(attachment.port, second);
  await attachment.release();
});

test.run();
