/** The built gateway as a process whose memory, file handles and disk can be read while it runs. */
import { type ChildProcess, spawn } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { portico } from "../bench/harness/built.ts";
import { temporaryDir } from "../support/temporary.ts";

const REPORT = fileURLToPath(new URL("report.cjs", import.meta.url));
const LOOK_MS = 20;
const MEGABYTE = 1024 * 1024;

export interface Reading {
  residentMb: number;
  /** Of JavaScript, after a collection. */
  heapMb: number;
  /** Of buffers and of native code, after a collection. */
  externalMb: number;
  handles: number;
  /** Of the home. */
  diskMb: number;
}

export class SoakGateway {
  readonly home = temporaryDir("portico-soak-");
  readonly #report = join(temporaryDir("portico-soak-"), "memory.json");
  #child!: ChildProcess;
  url = "";
  token = "";

  /** `files`: path below the home → text. */
  async start(config: object, files: Record<string, string>): Promise<void> {
    const all = { ...files, "portico.json": JSON.stringify({ gateway: { port: 0 }, ...config }) };
    for (const [path, text] of Object.entries(all)) this.write(path, text);
    const log = join(dirname(this.#report), "log");
    const output = openSync(log, "w", 0o600);
    this.#child = spawn(
      process.execPath,
      ["--expose-gc", "--require", REPORT, portico, "start", "--home", this.home],
      {
        stdio: ["ignore", output, "inherit"],
        env: { ...process.env, SOAK_REPORT: this.#report },
      },
    );
    closeSync(output);
    this.url = await waitFor("the gateway's address", () => {
      if (this.#child.exitCode !== null) throw new Error(`The gateway ended. See ${log}.`);
      return /Base URL\s+(http:\/\/127\.0\.0\.1:\d+)/.exec(readFileSync(log, "utf8"))?.[1];
    });
    const written = JSON.parse(readFileSync(join(this.home, "portico.json"), "utf8"));
    this.token = (written as { gateway: { auth: { token: string } } }).gateway.auth.token;
  }

  write(path: string, text: string): void {
    const file = join(this.home, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode: 0o600 });
  }

  /** Where the browser is controlled. */
  async browserUrl(): Promise<string> {
    const headers = { authorization: `Bearer ${this.token}` };
    const response = await fetch(`${this.url}/kernel/status`, { headers });
    const { servers } = (await response.json()) as { servers: { browser: string } };
    return servers.browser;
  }

  async read(): Promise<Reading> {
    rmSync(this.#report, { force: true });
    this.#child.kill("SIGUSR2");
    const text = await waitFor("the memory's report", () => readIfThere(this.#report));
    const memory = JSON.parse(text) as NodeJS.MemoryUsage;
    return {
      residentMb: memory.rss / MEGABYTE,
      heapMb: memory.heapUsed / MEGABYTE,
      externalMb: memory.external / MEGABYTE,
      handles: readdirSync(`/proc/${this.#child.pid}/fd`).length,
      diskMb: sizeOf(this.home) / MEGABYTE,
    };
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGTERM");
    await ended;
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

async function waitFor<T>(what: string, look: () => T | undefined): Promise<T> {
  for (let waitedMs = 0; waitedMs < 60_000; waitedMs += LOOK_MS) {
    const value = look();
    if (value !== undefined) return value;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  throw new Error(`Waited a minute for ${what}.`);
}

/** Files may come and go meanwhile. */
function sizeOf(directory: string): number {
  let bytes = 0;
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) bytes += sizeOf(path);
    else bytes += statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  }
  return bytes;
}
