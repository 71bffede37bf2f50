/** The gateway as users run it: built, and a process of its own. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join } from "node:path";
import { packageDir } from "../../support/gateway.ts";
import { temporaryDir } from "../../support/temporary.ts";

/** Of the build that lies in `dir`: the command line. */
export function programOf(dir: string): string {
  const { bin } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8")) as {
    bin: { portico: string };
  };
  return join(dir, bin.portico);
}
/** The command line as it is built. */
export const portico = programOf(packageDir);

/** Builds anew: what an earlier build has left would be measured otherwise. */
export function build(): void {
  execFileSync("npm", ["run", "--silent", "build"], { cwd: packageDir });
}

/** A process under load. */
export interface Subject {
  name: string;
  port: number;
  /** Of each request: the credentials. */
  headers: string;
  process: ChildProcess;
}

export interface BuiltGateway extends Subject {
  token: string;
  home: string;
  /** Where its build lies. */
  dir: string;
}

export interface BuiltOptions {
  config: object;
  /** Path below the home → text. */
  files?: Record<string, string> | undefined;
  /** Of the build; without it, this one. */
  dir?: string;
}

/**
 * Starts what was built, with a home of its own. Its log goes into a file, beside the home that it watches: to read it
 * would cost the client more than its requests.
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
  const command = [programOf(dir), "start", "--home", home];
  const child = spawn(process.execPath, command, { stdio: ["ignore", output, "inherit"] });
  closeSync(output);
  let port: number | undefined;
  while (port === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    const said = readFileSync(log, "utf8");
    const found = /Base URL\s+http:\/\/127\.0\.0\.1:(\d+)/.exec(said);
    if (found) port = Number(found[1]);
    else if (child.exitCode !== null)
      throw new Error(`the gateway ended with ${child.exitCode}: ${said}`);
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

/** What a gateway answers to a request with its token. Throws where that is no 2xx. */
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

/** Ends a process and waits for its end. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill();
  await ended;
}

/** Whatever answered on a fixed port before the gateway does would be measured in its place. */
export async function freePort(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return String(port);
}

/** Resolves at the first healthy answer; rejects when the gateway ends before. */
export async function healthy(url: string, child: ChildProcess): Promise<void> {
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
