/** The gateway that a node connects to, and the node's name there: from the command line or else the settings. */
import { randomUUID } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { PluginContext } from "portico";
import { parseUrl } from "portico/strings";
import { errors } from "../errors.ts";
import type { NodeHostOptions } from "../index.ts";
import type { NodeHostConfig } from "../schema.ts";
import { HEADER, NAME, PATH, PROTOCOL } from "../wire.ts";

export interface HostContext {
  ctx: PluginContext;
  config(): NodeHostConfig;
  onConfig(listener: () => void): () => void;
}

export interface Target {
  url: string;
  displayUrl: string;
  name: string;
  headers: Record<string, string>;
}

export const isSame = (a: Target, b: Target): boolean => JSON.stringify(a) === JSON.stringify(b);

/**
 * Builds the target again for each connection, because the settings may have changed. Rejects if they name no gateway,
 * token or usable name.
 */
export async function resolveTarget(
  { ctx, config }: HostContext,
  options: NodeHostOptions,
): Promise<Target> {
  const settings = config();
  const gateway = options.gateway ?? settings.gateway;
  const token = options.token ?? settings.token;
  const name = options.name ?? settings.name ?? hostname();
  if (gateway === undefined || !parseUrl(gateway) || !/^(https?|wss?):/.test(gateway)) {
    throw errors.gatewayMissing();
  }
  if (token === undefined) throw errors.tokenMissing();
  if (!NAME.test(name)) throw errors.unusableNodeName({ name: JSON.stringify(name) });
  const url = new URL(gateway);
  const displayUrl = `${url.protocol}//${url.host}`;
  url.protocol = url.protocol.replace(/^http/, "ws");
  url.pathname = `${url.pathname.replace(/\/+$/, "")}${PATH}`;
  url.search = "";
  url.hash = "";
  url.username = "";
  url.password = "";
  const headers = {
    // each UTF-8 byte becomes one latin1 character, because a header can hold no others
    authorization: `Bearer ${Buffer.from(token).toString("latin1")}`,
    "user-agent": `portico/${ctx.version}`,
    [HEADER.protocol]: String(PROTOCOL),
    [HEADER.name]: encodeURIComponent(name),
    [HEADER.identity]: await loadIdentity(ctx.paths.state),
  };
  return { url: url.href, displayUrl, name, headers };
}

/** Returns this node's stored id, or creates it. The gateway recognises a node that reconnects by it. */
async function loadIdentity(state: string): Promise<string> {
  const file = join(state, "node-id");
  const storedId = (await readFile(file, "utf8").catch(() => "")).trim();
  if (/^[\w-]{8,64}$/.test(storedId)) return storedId;
  const newId = randomUUID();
  await mkdir(state, { recursive: true, mode: 0o700 });
  await writeFile(file, newId, { mode: 0o600 });
  return newId;
}
