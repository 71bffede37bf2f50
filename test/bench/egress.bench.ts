/**
 * A page with 100 sub-resources, fetched as a browser would (six connections), directly and through the egress proxy.
 * Browser and site each have a thread of their own, as they have in life; the proxy runs on the gateway's. The stand-in
 * for a browser spends as much time on a resource as Chromium does on a small script (490 ms for 100, measured).
 */
import { Worker } from "node:worker_threads";
import { startEgressProxy } from "../../kernel/egress-proxy.ts";
import { createGuard } from "../../kernel/guard/guard.ts";

const RESOURCES = 100;
const ROUNDS = 9;

const SITE = `
const { parentPort } = require("node:worker_threads");
const body = Buffer.alloc(8192, "x");
const server = require("node:http").createServer((req, res) => setTimeout(() => res.end(body), 4));
server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

// A fresh browser has no connections yet: each load pays for making them.
const BROWSER = `
const { parentPort } = require("node:worker_threads");
const http = require("node:http");
const get = (agent, port, path) => new Promise((resolve, reject) => {
  const req = http.request({ host: "127.0.0.1", port, path, agent, headers: { host: "page" } }, (res) => {
    if (res.statusCode !== 200) reject(new Error("status " + res.statusCode));
    res.resume().on("error", reject).on("end", () => {
      const until = performance.now() + 4;
      while (performance.now() < until);
      resolve();
    });
  });
  req.on("error", reject);
  req.end();
});
parentPort.on("message", async ({ port, prefix }) => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 6 });
  const begun = performance.now();
  await Promise.all(Array.from({ length: ${RESOURCES} }, (_, i) => get(agent, port, prefix + "/r" + i)));
  parentPort.postMessage(performance.now() - begun);
  agent.destroy();
});
`;

const answerOf = (worker: Worker): Promise<number> =>
  new Promise((resolve, reject) => {
    worker.once("error", reject).once("message", (value) => {
      worker.off("error", reject);
      resolve(value);
    });
  });
const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]!;

export default async function egress() {
  const site = new Worker(SITE, { eval: true });
  const browser = new Worker(BROWSER, { eval: true });
  const sitePort = await answerOf(site);
  const guard = createGuard({ policy: () => ({ allowPrivate: true }), ownPorts: () => [] });
  const proxy = await startEgressProxy({ guard });
  const load = (port: number, prefix: string): Promise<number> => {
    browser.postMessage({ port, prefix });
    return answerOf(browser);
  };
  const direct: number[] = [];
  const proxied: number[] = [];
  try {
    for (let round = 0; round < ROUNDS; round++) {
      direct.push(await load(sitePort, ""));
      proxied.push(await load(proxy.port, `http://127.0.0.1:${sitePort}`));
    }
  } finally {
    await proxy.close();
    await Promise.all([site.terminate(), browser.terminate()]);
  }
  const [a, b] = [median(direct), median(proxied)];
  return {
    name: "egress proxy",
    figures: [
      { what: `${RESOURCES} sub-resources directly`, value: a, unit: "ms" },
      { what: `${RESOURCES} sub-resources through the proxy`, value: b, unit: "ms" },
      { what: "through the proxy, ratio", value: b / a, unit: "x", limit: 1.25, ratioTo: "directly" },
    ],
  };
}
