/**
 * Gateway and node in two network namespaces, as on two machines. This file runs once more in a namespace of its own:
 * a browser of another test stops loading (ERR_NETWORK_CHANGED) where the machine's own network changes.
 */
import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import {
  isInNamespace,
  runInNamespace,
  START_NETWORK,
} from "../../support/machine/in-namespace.ts";
import { firstLine, PATIENCE_MS, until } from "../../support/until.ts";
import { startBrowser } from "../browser/support.ts";
import { spawnNode } from "./support.ts";

const space = `portico-${process.pid}`;
const [outer, inner] = [`pt${process.pid % 100_000}a`, `pt${process.pid % 100_000}b`];
const third = process.pid % 250;
const gatewayAddress = `10.213.${third}.1`;
const inside = ["ip", "netns", "exec", space];

const ip = (...words: string[]): boolean =>
  spawnSync("ip", words, { stdio: "ignore" }).status === 0;
const hasNamespaces =
  isInNamespace &&
  ip("netns", "add", space) &&
  ip("link", "add", outer, "type", "veth", "peer", "name", inner);

const SITE = `require("http").createServer((_, res) => res.end("<title>only here</title><button>Go</button>"))
  .listen(0, "127.0.0.1", function () { console.log(this.address().port); })`;

test.after(() => {
  ip("link", "del", outer);
  ip("netns", "del", space);
});

test("the browser uses the node's network, and a lost connection is noticed and restored", async () => {
  if (!hasNamespaces)
    return runInNamespace(import.meta.filename, {
      kinds: "mn",
      needs: "no network namespace can be made: 'ip' (iproute2) is needed",
      setUp: "mount -t tmpfs tmpfs /run",
    });
  spawnSync(inside[0] as string, [...inside.slice(1), "sh", "-c", START_NETWORK]);
  ip("link", "set", inner, "netns", space);
  ip("addr", "add", `${gatewayAddress}/24`, "dev", outer);
  ip("link", "set", outer, "up");
  for (const words of [
    ["addr", "add", `10.213.${third}.2/24`, "dev", inner],
    ["link", "set", inner, "up"],
  ])
    assert.ok(ip("-n", space, ...words), words.join(" "));
  const link = () => String(spawnSync("ip", ["-n", space, "link", "show", inner]).stdout);
  await until("the link to come up", () => link().includes("state UP"));

  const config = {
    gateway: {
      bind: "0.0.0.0",
      auth: { token: "over-the-wire" },
      nodes: { heartbeatMs: PATIENCE_MS },
    },
  };
  const browser = await startBrowser({ executablePath: "/nowhere/chrome" }, { config });
  /** Only while the cable is cut does silence count: a slow machine is silent, too. */
  const setHeartbeat = async (heartbeatMs: number): Promise<void> => {
    const file = JSON.parse(readFileSync(join(browser.gateway.home, "portico.json"), "utf8"));
    file.gateway.nodes.heartbeatMs = heartbeatMs;
    browser.gateway.write("portico.json", JSON.stringify(file));
    await browser.gateway.json("POST", "/kernel/config/refresh");
  };
  const site = spawn(inside[0] as string, [...inside.slice(1), process.execPath, "-e", SITE]);
  const url = `http://127.0.0.1:${await firstLine(site.stdout)}/`;
  const gateway = `http://${gatewayAddress}:${browser.gateway.port}`;
  const node = spawnNode({ gateway, token: "over-the-wire", name: "far", wrap: inside });
  try {
    await node.says("Connected to");
    assert.is((await browser.gateway.json("GET", "/nodes")).nodes[0].address, `10.213.${third}.2`);
    const here = await fetch(url).then(
      (response) => response.status,
      () => "unreachable",
    );
    assert.is(here, "unreachable", "the gateway's machine has no such site");
    await browser.visit(url);
    const { body } = await browser.get("/snapshot");
    assert.is(body.title, "only here");
    assert.ok((await browser.post("/screenshot")).body.path);
    const own = await browser.post("/navigate", { url: `${gateway}/` });
    assert.is(
      own.body.error?.code,
      "navigation_blocked",
      "the gateway is out of bounds at its address, too",
    );

    const acting = browser.act("wait", { text: "never there", timeoutMs: 60_000 });
    await until(
      "the action",
      async () => (await browser.gateway.json("GET", "/nodes")).nodes[0].inFlight === 1,
    );
    await setHeartbeat(300);
    ip("link", "set", outer, "down");
    const cut = await acting;
    assert.is(cut.status, 503);
    assert.is(cut.body.error.code, "node_unavailable");
    await setHeartbeat(PATIENCE_MS);
    ip("link", "set", outer, "up");
    await until(
      "the node to come back",
      async () => (await browser.gateway.json("GET", "/nodes")).nodes[0].state === "connected",
    );
    assert.is((await browser.get("/tabs")).body.running, true, "its browser ran on");
  } finally {
    ip("link", "set", outer, "up");
    await node.stop();
    site.kill();
    await browser.stop();
  }
});

test.run();
