/** Runs the built gateway in a process of its own, as users do. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join } from "node:path";
import { packageDir } from "../../support/gateway.ts";
import { temporaryDir } from "../../support/temporary.ts";

/** Returns the path of the command line in the build in `dir`. */
export function commandLineOf(dir: string): string {
  const { bin } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8")) as {
    bin: { portico: string };
  };
  return join(dir, bin.portico);
}
/** The command line of this build. */
export const portico = commandLineOf(packageDir);

/** Builds the package, so that the benchmark does not measure an earlier build. */
export function build(): void {
  execFileSync("npm", ["run", "--silent", "build"], { cwd: packageDir });
}

/** A process under load. */
export interface Subject {
  name: string;
  port: number;
  /** Header lines with the credentials, for each request. */
  headers: string;
  process: ChildProcess;
}

export interface BuiltGateway extends Subject {
  token: string;
  home: string;
  /** The directory of its build. */
  dir: string;
}

export interface BuiltOptions {
  config: object;
  /** Files to write: path below the home → text. */
  files?: Record<string, string> | undefined;
  /** The directory of the build. The default is this package. */
  dir?: string;
}

/**
 * Starts the built gateway with its own home. Its log goes to a file, because reading it would cost the client more than
 * its requests. The file is outside the home, which the gateway watches.
 */
export async function startBuilt({
  config,
  files = {},
  dir = packageDir,
}: BuiltOptions): Promise<BuiltGateway> {
  const home = temporaryDir("portico-bench-");
  const all = { ...files, "portico.json": JSON.stringify({ gateway: { port: 0 }, ...config }) };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text, { mode: 0o600 });
  }
  const log = join(temporaryDir("portico-bench-"), "log");
  const output = openSync(log, "w");
  const command = [commandLineOf(dir), "start", "--home", home];
  const child = spawn(process.execPath, command, { stdio: ["ignore", output, "inherit"] });
  closeSync(output);
  let port: number | undefined;
  while (port === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    const output = readFileSync(log, "utf8");
    const match = /Base URL\s+http:\/\/127\.0\.0\.1:(\d+)/.exec(output);
    if (match) port = Number(match[1]);
    else if (child.exitCode !== null)
      throw new Error(`the gateway ended with ${child.exitCode}: ${output}`);
  }
  const { gateway } = JSON.parse(readFileSync(join(home, "portico.json"), "utf8")) as {
    gateway: { auth: { token: string } };
  };
  const { token } = gateway.auth;
  return {
    name: "portico",
    port,
    headers: `authorization: Bearer ${token}\r\n`,
    process: child,
    token,
    home,
    dir,
  };
}

/** Sends a request with the gateway's token, and returns the JSON of the response. Throws unless the status is 2xx. */
export async function ask<T = any>(
  { port, token }: Pick<BuiltGateway, "port" | "token">,
  method: string,
  path: string,
  body?: object,
): Promise<T> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return JSON.parse(text) as T;
}

/** Terminates a process, and waits until it has exited. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill();
  await ended;
}

/** Returns a free port. On a fixed port, another server might answer in place of the gateway. */
export async function freePort(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return String(port);
}

/** Resolves at the first healthy answer. Rejects if the gateway exits before. */
export async function waitUntilHealthy(url: string, child: ChildProcess): Promise<void> {
  for (;;) {
    const ok = await new Promise<boolean>((resolve) => {
      request(url, { agent: false }, (res) => {
        res.resume();
        resolve(res.statusCode === 200);
      })
        .on("error", () => resolve(false))
        .end();
    });
    if (ok) return;
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(
        `the gateway ended with ${child.exitCode ?? child.signalCode} before it answered`,
      );
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
