/** A node's connection to its gateway: made, kept, and made again. */
import { randomUUID } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { isPorticoError, type NodeHostOptions, type PluginContext, PorticoError } from "portico";
import { dial, Line, type Refusal } from "../line.ts";
import type { NodeHostConfig } from "../schema.ts";
import { type FromNode, HEADER, NAME, PATH, PROTOCOL, type ToNode } from "../wire.ts";
import { Desk, forgetUploads } from "./desk.ts";

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
/** The heartbeat until the gateway names its own. */
const UNTIL_WELCOME_MS = 5000;
/** A connection that held this long begins the back-off anew. */
const STEADY_MS = 10_000;

export interface HostParts {
  ctx: PluginContext;
  config(): NodeHostConfig;
  onConfig(listener: () => void): () => void;
}

interface Target {
  url: string;
  shown: string;
  name: string;
  headers: Record<string, string>;
}

/** Resolves with the first connection; the later ones are made in the background until the plugin ends. */
export async function startHost(parts: HostParts, options: NodeHostOptions): Promise<void> {
  const { ctx } = parts;
  const { say } = options;
  const target = await targetOf(parts, options);
  await forgetUploads(ctx.paths.tmp);
  let failures = 0;
  const next = async (): Promise<void> => {
    const delay = backOff(failures++);
    say(`Trying again in ${(delay / 1000).toFixed(1)} s.`);
    await pause(delay, ctx.signal);
  };
  /** False where the gateway refused this node: only the first time that is final. */
  const once = async (): Promise<Connection | undefined> => {
    try {
      return await connect(parts, target);
    } catch (error) {
      if (ctx.signal.aborted) return undefined;
      const problem = explain(error, target);
      if (problem.isFinal && first) throw problem.error;
      say(problem.error.message);
      return undefined;
    }
  };
  let first = true;
  let connection = await once();
  while (connection === undefined && !ctx.signal.aborted) {
    await next();
    connection = await once();
  }
  first = false;
  const keep = async (): Promise<void> => {
    while (!ctx.signal.aborted) {
      if (connection !== undefined) {
        say(`Connected to ${target.shown} as ${target.name}.`);
        const since = Date.now();
        const { code, reason } = await connection.closed;
        if (ctx.signal.aborted) return;
        if (Date.now() - since > STEADY_MS) failures = 0;
        say(`The connection to ${target.shown} ended${reason === "" ? ` (${code})` : `: ${reason}`}.`);
      }
      await next();
      if (!ctx.signal.aborted) connection = await once();
    }
  };
  void keep();
}

async function targetOf({ ctx, config }: HostParts, options: NodeHostOptions): Promise<Target> {
  const set = config();
  const gateway = options.gateway ?? set.gateway;
  const token = options.token ?? set.token;
  const name = options.name ?? set.name ?? hostname();
  if (gateway === undefined || !URL.canParse(gateway) || !/^(https?|wss?):/.test(gateway)) {
    throw new PorticoError(
      "invalid_request_error",
      "Which gateway? Give its address with --gateway, such as https://gateway.example:18789, or set nodeHost.gateway.",
    );
  }
  if (token === undefined) {
    throw new PorticoError(
      "invalid_request_error",
      "The gateway asks for its token: give it with --token, in PORTICO_TOKEN, or set nodeHost.token.",
    );
  }
  if (!NAME.test(name)) {
    throw new PorticoError(
      "invalid_request_error",
      `${JSON.stringify(name)} cannot be a node's name: letters, digits, spaces and . _ - only, at most 63. Choose one with --name.`,
    );
  }
  const url = new URL(gateway);
  const shown = `${url.protocol}//${url.host}`;
  url.protocol = url.protocol.replace(/^http/, "ws");
  url.pathname = `${url.pathname.replace(/\/+$/, "")}${PATH}`;
  url.search = "";
  url.hash = "";
  url.username = "";
  url.password = "";
  const headers = {
    authorization: `Bearer ${token}`,
    "user-agent": `portico/${ctx.version}`,
    [HEADER.protocol]: String(PROTOCOL),
    [HEADER.name]: encodeURIComponent(name),
    [HEADER.identity]: await identity(ctx.paths.state),
  };
  return { url: url.href, shown, name, headers };
}

/** Made once and kept, so that the gateway knows this node when it comes back. */
async function identity(state: string): Promise<string> {
  const file = join(state, "node-id");
  const known = (await readFile(file, "utf8").catch(() => "")).trim();
  if (/^[\w-]{8,64}$/.test(known)) return known;
  const made = randomUUID();
  await mkdir(state, { recursive: true, mode: 0o700 });
  await writeFile(file, made, { mode: 0o600 });
  return made;
}

interface Connection {
  closed: Promise<{ code: number; reason: string }>;
}

/** One connection, ready when the gateway has said welcome. */
async function connect({ ctx, config, onConfig }: HostParts, { url, headers, name }: Target): Promise<Connection> {
  let maxFileBytes = 0;
  let welcomed!: () => void;
  let ended!: (how: { code: number; reason: string }) => void;
  const welcome = new Promise<void>((resolve) => (welcomed = resolve));
  const closed = new Promise<{ code: number; reason: string }>((resolve) => (ended = resolve));
  const { line, desk } = await dial(url, headers, ctx.signal, (socket) => {
    const line: Line = new Line(socket, {
      message(message: ToNode) {
        if (message.t === "welcome") {
          line.watch(message.heartbeatMs);
          maxFileBytes = message.maxFileBytes;
          welcomed();
        } else if (message.t === "request") void ctx.busy(desk.answer(message));
        else desk.cancel(message.id);
      },
      chunk: (chunk) => desk.chunk(chunk),
      closed(code, reason) {
        desk.ended();
        ended({ code, reason });
      },
    });
    line.watch(UNTIL_WELCOME_MS);
    const enabled = (): boolean => config().browserProxy.enabled;
    const desk: Desk = new Desk({
      ctx,
      line,
      enabled,
      maxFileBytes: () => maxFileBytes,
      gatewayAddress: line.remoteAddress,
    });
    return { line, desk };
  });
  const unlisten = onConfig(() => {
    if (line.open) void desk.hello().then((hello) => line.send(hello));
  });
  const stop = (): void => line.close(1001, `node ${name} stops`);
  ctx.signal.addEventListener("abort", stop, { once: true });
  const quiet = ctx.on("browser:navigated", ({ context }) => {
    void line.send({ t: "navigated", ...context } satisfies FromNode);
  });
  void closed.then(() => {
    ctx.signal.removeEventListener("abort", stop);
    unlisten();
    return quiet();
  });
  await Promise.race([welcome, closed.then(({ code }) => Promise.reject(new Error(`closed at once (${code})`)))]);
  await line.send(await desk.hello());
  return { closed };
}

/** What went wrong, for the person who must act, and whether trying again could help. */
function explain(error: unknown, { shown, name }: Target): { error: PorticoError; isFinal: boolean } {
  const refusal = (isPorticoError(error) ? error.details?.["refusal"] : undefined) as Refusal | undefined;
  const final = (code: string, message: string) => ({
    error: new PorticoError(code, message, { cause: error }),
    isFinal: true,
  });
  if (refusal === undefined) {
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    const message = `No gateway can be reached at ${shown} (${reason}).`;
    return { error: new PorticoError("node_unavailable", message, { cause: error }), isFinal: false };
  }
  const { status, message = "" } = refusal;
  if (status === 401)
    return final(
      "unauthorized",
      `The gateway at ${shown} refuses the token: give the one in its configuration (gateway.auth.token).`,
    );
  if (status === 426) return final("version_mismatch", message || `The gateway at ${shown} is of another version.`);
  if (status === 409)
    return final("node_name_in_use", message || `The name ${name} is in use: choose one with --name.`);
  if (status === 404)
    return final(
      "not_found",
      `What answers at ${shown} takes no nodes: is that a Portico gateway, with its nodes plugin on?`,
    );
  if (status === 400 || status === 403)
    return final("forbidden", `The gateway at ${shown} refuses this node: ${message}`);
  const words = message || `it answered ${status}`;
  return {
    error: new PorticoError("node_unavailable", `The gateway at ${shown} takes no node now: ${words}`),
    isFinal: false,
  };
}

/** Doubling, with half of it left to chance: nodes of a gateway that comes back do not all come at once. */
function backOff(failures: number): number {
  const whole = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures, 10));
  return whole / 2 + (Math.random() * whole) / 2;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
  });
}
