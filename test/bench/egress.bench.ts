/**
 * Fetches a page with 100 sub-resources as a browser would (over six connections), directly and through the egress proxy.
 * The simulated browser and the site each have their own thread, as in reality, and the proxy runs in the main thread, like
 * the gateway. The simulated browser spends the same time on a resource as Chromium on a small script (490 ms for 100, measured).
 */
import { Worker } from "node:worker_threads";
import { startEgressProxy } from "../../plugins/egress/proxies/proxy.ts";
import { createGuard } from "../../plugins/egress/policy.ts";
import { median } from "./harness/measure.ts";

const RESOURCES = 100;
const ROUNDS = 9;

const SITE = `
const { parentPort } = require("node:worker_threads");
const body = Buffer.alloc(8192, "x");
const server = require("node:http").createServer((req, res) => setTimeout(() => res.end(body), 4));
server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

// Each load includes the time for opening connections, since a new browser has none yet.
const BROWSER = `
const { parentPort } = require("node:worker_threads");
const http = require("node:http");
const net = require("node:net");
const viaSocks = (proxyPort, port, done) => {
  const socket = net.connect(proxyPort, "127.0.0.1", () => socket.write(Buffer.from([5, 1, 0])));
  socket.once("data", () => {
    socket.write(Buffer.from([5, 1, 0, 1, 127, 0, 0, 1, port >> 8, port & 255]));
    socket.once("data", (reply) => done(reply[1] === 0 ? null : new Error("refused"), socket));
  });
};
const get = (agent, port, path) => new Promise((resolve, reject) => {
  const req = http.request({ host: "127.0.0.1", port, path, agent }, (res) => {
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
parentPort.on("message", async ({ port, proxyPort }) => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 6 });
  if (proxyPort) agent.createConnection = (_options, done) => viaSocks(proxyPort, port, done);
  const begun = performance.now();
  await Promise.all(Array.from({ length: ${RESOURCES} }, (_, i) => get(agent, port, "/r" + i)));
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

export default async function egress() {
  const site = new Worker(SITE, { eval: true });
  const browser = new Worker(BROWSER, { eval: true });
  const sitePort = await answerOf(site);
  const guard = createGuard({ policy: () => ({ allowPrivate: true }), ownPorts: () => [] });
  const proxy = await startEgressProxy({ guard });
  const load = (proxyPort?: number): Promise<number> => {
    browser.postMessage({ port: sitePort, proxyPort });
    return answerOf(browser);
  };
  const direct: number[] = [];
  const proxied: number[] = [];
  try {
    for (let round = 0; round < ROUNDS; round++) {
      direct.push(await load());
      proxied.push(await load(proxy.port));
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
      {
        what: "through the proxy, ratio",
        value: b / a,
        unit: "x",
        limit: 1.25,
        ratioTo: "directly",
      },
    ],
  };
}
