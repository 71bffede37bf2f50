/** `portico node` as a process of its own, with a home of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { porticoProgram } from "../../support/runner/bundle.ts";
import { makeHome, packageDir, type TestGateway } from "../../support/gateway.ts";
import { WebSocket } from "ws";
import { HEADER, PATH, PROTOCOL } from "../../../plugins/nodes/wire.ts";
import { until } from "../../support/until.ts";
import type { BrowserGateway } from "../browser/support.ts";
import { headlessBrowser } from "../../support/machine/prepare.ts";

export interface NodeProcess {
  child: ChildProcess;
  home: string;
  output(): string;
  /** Waits for a line of its output. */
  says(text: string | RegExp, timeoutMs?: number): Promise<void>;
  /** Resolves with the exit code. */
  exited: Promise<number | null>;
  kill(signal: NodeJS.Signals): Promise<void>;
  stop(): Promise<void>;
}

export interface NodeOptions {
  /** Options for the command line; the others are in `config`. */
  gateway?: string;
  token?: string;
  name?: string;
  home?: string;
  config?: Record<string, unknown>;
  /** Words before the command: `ip netns exec …`. */
  wrap?: string[];
}

export function spawnNode(options: NodeOptions): NodeProcess {
  const home = options.home ?? makeHome("portico-node-");
  const config = { browser: headlessBrowser, ...options.config };
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "portico.json"), JSON.stringify(config));
  const words = [...porticoProgram(), "node", "--port", "0", "--home", home];
  if (options.gateway !== undefined) words.push("--gateway", options.gateway);
  if (options.name !== undefined) words.push("--name", options.name);
  const [command = process.execPath, ...before] = [...(options.wrap ?? []), process.execPath];
  const child = spawn(command, [...before, ...words], {
    cwd: packageDir,
    // The token stays off the command line, as the documentation says.
    env: { ...process.env, PORTICO_TOKEN: options.token, PORTICO_HOME: undefined },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output += chunk;
  });
  const exited = once(child, "close").then(([code]) => code as number | null);
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await exited;
  };
  return {
    child,
    home,
    exited,
    kill,
    output: () => output,
    async says(text, timeoutMs) {
      const fits = (): boolean =>
        typeof text === "string" ? output.includes(text) : text.test(output);
      await until(`the node to say ${text}`, fits, timeoutMs).catch((error: Error) => {
        throw new Error(`${error.message}; it said:\n${output}`);
      });
    },
    async stop() {
      await kill("SIGTERM");
      if (options.home === undefined)
        rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}

/** A node that the test plays itself, knocking with the gateway's token. */
export function knock(
  { url, token }: TestGateway,
  name: string,
  headers: Record<string, string> = {},
): WebSocket {
  return new WebSocket(`${url.replace("http", "ws")}${PATH}`, {
    headers: {
      authorization: `Bearer ${token}`,
      [HEADER.protocol]: String(PROTOCOL),
      [HEADER.name]: name,
      [HEADER.identity]: `id-of-${name}`,
      ...headers,
    },
  });
}

/** The nodes of one test file: `stopAll` ends those that are still there. */
export function createNodes() {
  const running: NodeProcess[] = [];
  function start(options: NodeOptions): NodeProcess {
    const node = spawnNode(options);
    running.push(node);
    return node;
  }
  return {
    start,
    joinAs: (
      name: string,
      { gateway }: BrowserGateway,
      more: Partial<NodeOptions> = {},
    ): NodeProcess => start({ gateway: gateway.url, token: gateway.token, name, ...more }),
    async stopAll(): Promise<void> {
      // A frozen process would not receive the signal.
      for (const { child } of running) child.kill("SIGCONT");
      await Promise.all(running.splice(0).map((node) => node.stop()));
    },
  };
}

/** A gateway's description of its nodes. */
export const nodesOf = async ({ gateway }: BrowserGateway): Promise<any[]> =>
  (await gateway.json("GET", "/nodes")).nodes;

export const stateOf = async (browser: BrowserGateway, name: string): Promise<string | undefined> =>
  (await nodesOf(browser)).find((node) => node.name === name)?.state;

/** Browser settings of a gateway that has no browser itself. */
export const NO_BROWSER = { executablePath: "/nowhere/chrome" };
