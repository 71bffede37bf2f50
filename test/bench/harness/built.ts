/** The gateway as users run it: built, and a process of its own. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { packageDir } from "../../support/gateway.ts";
import { temporaryDir } from "../../support/temporary.ts";

const BUILT = ".build/portico.js";
/** The command line as it is built. */
export const portico = join(packageDir, BUILT);

/** Builds anew: what an earlier build has left would be measured otherwise. */
export function build(): void {
  execFileSync("npm", ["run", "--silent", "build"], { cwd: packageDir });
}

export interface BuiltGateway {
  child: ChildProcess;
  port: number;
  token: string;
}

/**
 * Starts what was built in `dir`, with this configuration and a home of its own. Its log goes into a file, beside the home
 * that it watches: to read it would cost the client more than its requests.
 */
export async function startBuilt(config: object, dir = packageDir): Promise<BuiltGateway> {
  const home = temporaryDir("portico-bench-");
  const file = join(home, "portico.json");
  writeFileSync(file, JSON.stringify({ gateway: { port: 0 }, ...config }), { mode: 0o600 });
  const command = [join(dir, BUILT), "start", "--home", home];
  const log = join(temporaryDir("portico-bench-"), "log");
  const output = openSync(log, "w");
  const child = spawn(process.execPath, command, { stdio: ["ignore", output, "inherit"] });
  closeSync(output);
  let port: number | undefined;
  while (port === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    const said = readFileSync(log, "utf8");
    const found = /Base URL\s+http:\/\/127\.0\.0\.1:(\d+)/.exec(said);
    if (found) port = Number(found[1]);
    else if (child.exitCode !== null) throw new Error(`the gateway ended with ${child.exitCode}: ${said}`);
  }
  const { gateway } = JSON.parse(readFileSync(file, "utf8")) as { gateway: { auth: { token: string } } };
  return { child, port, token: gateway.auth.token };
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
      throw new Error(`the gateway ended with ${child.exitCode ?? child.signalCode} before it answered`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
