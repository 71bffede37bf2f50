/** What the benchmarks of starts share. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { packageDir } from "../support/gateway.ts";

/** The command line as it is built. */
export const portico = join(packageDir, ".build/portico.js");

/** Whatever answered on a fixed port before the gateway does would be measured in its place. */
export async function freePort(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return String(port);
}

/** Resolves at the first healthy answer. */
export async function healthy(url: string): Promise<void> {
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
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export function residentMegabytes(pid: number): number {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.[1] ?? 0) / 1024;
}
