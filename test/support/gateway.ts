/**
 * Gateways for tests, in this process or in a process of their own. Each has its own home, which is removed when it stops.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { dirname, join } from "node:path";
import { loaderFor } from "../../kernel/package-loader.ts";
import { type Gateway, startGateway as boot } from "../../kernel/gateway/gateway.ts";
import { resolvePaths } from "../../kernel/files/paths.ts";
import { porticoProgram } from "./runner/bundle.ts";
import { temporaryDir } from "./temporary.ts";

export const packageDir = dirname(dirname(import.meta.dirname));

export interface TestOptions {
  /** The content of `portico.json`. `gateway.port` is 0 by default. */
  config?: Record<string, unknown>;
  /** Files to write before the start: path below the home → text. */
  files?: Record<string, string>;
  /** A home that `makeHome` created, which outlives the gateway. */
  home?: string;
  env?: Record<string, string | undefined>;
  /** The value of `--port`, for tests in which the gateway itself writes `portico.json`. */
  port?: number;
  /** The only plugins that run. It applies only to a gateway in this process. */
  only?: readonly string[];
  /** Called with each log line. It applies only to a gateway in this process. */
  onLine?: (line: Record<string, unknown>) => void;
}

export interface TestGateway {
  url: string;
  token: string;
  home: string;
  port: number;
  /** Sends a request with the token and a JSON body. `server` names another of the gateway's servers. */
  request(
    method: string,
    path: string,
    body?: unknown,
    options?: {
      headers?: Record<string, string>;
      token?: string | null;
      server?: string;
      signal?: AbortSignal;
    },
  ): Promise<Response>;
  /** Sends a request and returns its JSON. Throws unless the status is 2xx. */
  json<T = any>(method: string, path: string, body?: unknown): Promise<T>;
  /** Returns the base address of another server (`browser`). */
  serverUrl(name: string): Promise<string>;
  stop(): Promise<void>;
}

export interface InProcessGateway extends TestGateway {
  gateway: Gateway;
  /** Every log line so far, parsed. */
  lines: Record<string, unknown>[];
  /** Writes a file below the home. */
  write(path: string, text: string): void;
}

/** Creates a directory that is removed when this process ends. */
export function makeHome(prefix = "portico-test-"): string {
  return temporaryDir(prefix);
}

export async function startGateway(options: TestOptions = {}): Promise<InProcessGateway> {
  const home = prepareHome(options);
  const lines: Record<string, unknown>[] = [];
  const gateway = await boot({
    paths: resolvePaths({ home }, {}),
    env: { ...process.env, ...options.env },
    version: "0.0.0-test",
    port: options.port,
    only: options.only,
    loader: loaderFor({ package: packageDir, state: join(home, "state") }),
    write(text) {
      const line = JSON.parse(text) as Record<string, unknown>;
      lines.push(line);
      options.onLine?.(line);
    },
  });
  const token = gateway.token ?? "";
  return {
    gateway,
    lines,
    home,
    token,
    url: gateway.url,
    port: gateway.servers.mainServer.port,
    ...client(gateway.url, token),
    write: (path, text) => writeFiles(home, { [path]: text }),
    async stop() {
      await gateway.stop("test");
      if (!options.home)
        rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    },
  };
}

export interface SpawnedGateway extends TestGateway {
  child: ChildProcess;
  /** Returns everything that it has printed on both streams. */
  output(): string;
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Stops it from keeping this process alive, except while it is being stopped. */
  unref(): void;
}

/**
 * Runs `portico start` in a process of its own. `program` is the file of an installed `portico`, which runs instead of the
 * sources under test. Resolves when the gateway has printed its address.
 */
export async function spawnGateway(
  options: TestOptions & { args?: string[]; program?: string } = {},
): Promise<SpawnedGateway> {
  const home = prepareHome(options);
  const program = options.program === undefined ? porticoProgram() : [options.program];
  const child = spawn(
    process.execPath,
    [...program, "start", "--home", home, ...(options.args ?? [])],
    {
      env: { ...process.env, ...options.env },
      stdio: ["ignore", "pipe", "pipe"],
      cwd: packageDir,
    },
  );
  let output = "";
  const exited = once(child, "exit");
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk.toString("utf8");
      const match = /Base URL\s+(\S+)\/v1/.exec(output);
      if (match?.[1]) resolve(match[1]);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("exit", (code) => reject(new Error(`the gateway ended with ${code}:\n${output}`)));
  });
  const { gateway } = JSON.parse(readFileSync(join(home, "portico.json"), "utf8")) as {
    gateway?: { auth?: { token?: string } };
  };
  const token = gateway?.auth?.token ?? "";
  const kill = async (signal: NodeJS.Signals) => {
    child.ref();
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await exited;
  };
  const unref = () => {
    for (const handle of [child, child.stdout as Socket, child.stderr as Socket]) handle.unref();
  };
  return {
    child,
    unref,
    home,
    url,
    token,
    port: Number(new URL(url).port),
    ...client(url, token),
    output: () => output,
    kill,
    async stop() {
      await kill("SIGTERM");
      if (!options.home)
        rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    },
  };
}

function prepareHome(options: TestOptions): string {
  const home = options.home ?? makeHome();
  const config = options.config ?? {};
  const gateway = { port: 0, ...(config["gateway"] as object | undefined) };
  if (!options.home || options.config)
    writeFiles(home, { "portico.json": JSON.stringify({ ...config, gateway }, null, 2) });
  writeFiles(home, options.files ?? {});
  return home;
}

function writeFiles(home: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    const file = join(home, path);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, text, { mode: 0o600 });
  }
}

/** Encodes a body: strings and bytes unchanged, everything else as JSON. */
function encodeBody(body: unknown): string | undefined {
  if (body === undefined) return undefined;
  if (typeof body === "string" || body instanceof Uint8Array) return body as string;
  return JSON.stringify(body);
}

function client(url: string, token: string) {
  let servers: Record<string, string> | undefined;
  async function serverUrl(name: string): Promise<string> {
    servers ??= ((await json("GET", "/kernel/status")) as { servers: Record<string, string> })
      .servers;
    const serverAddress = servers[name];
    if (!serverAddress) throw new Error(`no server ${name} among ${Object.keys(servers)}`);
    return serverAddress;
  }
  const request: TestGateway["request"] = async (method, path, body, options = {}) => {
    const base = options.server ? await serverUrl(options.server) : url;
    const bearer = options.token === undefined ? token : options.token;
    return fetch(base + path, {
      method,
      headers: {
        ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...options.headers,
      },
      body: encodeBody(body),
      signal: options.signal,
    });
  };
  async function json<T = any>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await request(method, path, body);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return JSON.parse(text) as T;
  }
  return { request, json, serverUrl };
}

/** Removes request ids from a text. They are random, so in rare runs they would contain a text that a test searches for. */
export const removeRequestIds = (text: string) => text.replace(/req_[\w-]+/g, "");
