/**
 * Steps of the control API, with the gateway's cost of each. The page with 100 scripts is loaded through its egress proxy.
 */
import { findChromium } from "../../../support/machine/prepare.ts";
import { ask, type BuiltGateway } from "../../harness/built.ts";
import { cpuMicros, median } from "../../harness/measure.ts";
import { startSite } from "../../harness/site.ts";
import type { GatewayArea, Reading, Round } from "../area.ts";

const CALLS = 3;

/** Returns the gateway with the port of its control API. */
export async function findControl(gateway: BuiltGateway): Promise<BuiltGateway> {
  const { servers } = await ask<{ servers: Record<string, string> }>(
    gateway,
    "GET",
    "/kernel/status",
  );
  return { ...gateway, port: Number(new URL(servers["browser"]!).port) };
}

export const BROWSER_CONFIG = {
  browser: { headless: true, noSandbox: true, executablePath: findChromium() },
  agents: { defaults: { heartbeat: { every: "0" } } },
};

type Work = () => Promise<unknown>;

let site: Promise<string> | undefined;

async function begin(gateway: BuiltGateway): Promise<Round> {
  site ??= startSite();
  const url = await site;
  const control = await findControl(gateway);
  const call = (method: string, path: string, body?: object) => ask(control, method, path, body);
  return async () => {
    await call("POST", "/navigate", { url });
    const { refs } = (await call("GET", "/snapshot")) as {
      refs: Record<string, { name?: string }>;
    };
    const ref = Object.keys(refs).find((key) => refs[key]?.name === "Press");
    const steps: Record<string, Work> = {
      snapshot: () => call("GET", "/snapshot"),
      click: () => call("POST", "/act", { kind: "click", ref }),
      evaluate: () => call("POST", "/act", { kind: "evaluate", fn: "() => document.title" }),
      screenshot: () => call("POST", "/screenshot", {}),
      tab: () => openAndClose(call),
      "100 scripts": () => call("POST", "/navigate", { url: `${url}/many`, waitUntil: "load" }),
    };
    const reading: Reading = {};
    for (const [what, work] of Object.entries(steps))
      Object.assign(reading, await measureCost(gateway, what, work));
    return reading;
  };
}

async function openAndClose(
  call: (method: string, path: string, body?: object) => Promise<any>,
): Promise<void> {
  const { targetId } = await call("POST", "/tabs/open", { url: "about:blank" });
  await call("DELETE", `/tabs/${targetId}`);
}

async function measureCost({ process }: BuiltGateway, what: string, work: Work): Promise<Reading> {
  const times: number[] = [];
  const cpu = cpuMicros(process.pid!);
  for (let n = 0; n < CALLS; n++) {
    const began = performance.now();
    await work();
    times.push(performance.now() - began);
  }
  return {
    [`${what}, ms`]: median(times),
    [`${what}, CPU ms`]: (cpuMicros(process.pid!) - cpu) / 1000 / CALLS,
  };
}

export const browserArea: GatewayArea = {
  name: "browser",
  what: "steps of the browser's control API, and CPU of the gateway alone",
  config: () => BROWSER_CONFIG,
  begin,
  rounds: 10,
};
