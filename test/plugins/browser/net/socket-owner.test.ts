/** The browser's proxy serves the browser alone. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { promisify } from "node:util";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { canIdentifyPeers } from "../../../../plugins/browser/net/socket-owner.ts";
import { type BrowserGateway, type Site, startBrowser, startSite } from "../support.ts";

const test = suite("processes at the egress proxy");
let browser: BrowserGateway;
let site: Site;

test.before(async () => {
  site = await startSite({ "/": "<title>Here</title>here" });
  browser = await startBrowser();
});
test.after(async () => {
  await browser.stop();
  await site.stop();
});

async function proxyPort(): Promise<number> {
  const { body } = await browser.get("/");
  const commandLine = readFileSync(`/proc/${body.pid}/cmdline`, "utf8");
  const [, port] = /--proxy-server=socks5:\/\/127\.0\.0\.1:(\d+)/.exec(commandLine) ?? [];
  if (port === undefined) throw new Error(`no proxy in ${commandLine}`);
  return Number(port);
}

/** The response to the greeting of a client without credentials; empty if the connection is closed. */
async function greet(port: number): Promise<Buffer> {
  const socket = connect(port, "127.0.0.1", () => socket.write(Buffer.from([5, 1, 0])));
  const parts: Buffer[] = [];
  socket.on("data", (part) => {
    parts.push(part);
    socket.end();
  });
  socket.on("error", () => {});
  await once(socket, "close");
  return Buffer.concat(parts);
}

const GREET = `
  const socket = require("node:net").connect(+process.argv[1], "127.0.0.1", () => socket.write(Buffer.from([5, 1, 0])));
  let size = 0;
  socket.on("data", (part) => { size += part.length; socket.end(); });
  socket.on("error", () => {});
  socket.on("close", () => console.log(size));
`;

if (canIdentifyPeers) {
  test("pages open through the proxy", async () => {
    await browser.visit(site.url);
    assert.ok(site.hits.includes("/"));
  });

  test("no other process is served, neither the gateway nor another process of the same user", async () => {
    const port = await proxyPort();
    assert.is((await greet(port)).length, 0);
    const command = ["-e", GREET, String(port)];
    const other = await promisify(execFile)(process.execPath, command);
    assert.is(other.stdout.trim(), "0");
  });
}

test.run();
