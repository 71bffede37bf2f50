/**
 * A SOCKS5 proxy (RFC 1928) for browsers: the guard judges every connection when it is made, by name and by address, and
 * it goes to a judged address only. So redirects, frames, sub-resources, WebSockets, workers and names that change their
 * address are covered without the browser's help. What passes is not touched: TLS stays end to end, and a request costs
 * next to nothing.
 */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { isPorticoError, PorticoError } from "portico";
import { addressKind } from "./addresses.ts";
import { pinnedLookup } from "./fetch.ts";
import type { BlockReason, Denial, EgressProxy, EgressProxyOptions, ResolvedAddress } from "./types.ts";

const KEPT_DENIALS = 200;
/** A client says in that time where it wants to go. */
const HANDSHAKE_MS = 15_000;

const VERSION = 5;
const NO_CREDENTIALS = 0;
const NO_METHOD = 0xff;
const CONNECT = 1;
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;
const REPLY = {
  connected: 0,
  failed: 1,
  forbidden: 2,
  unreachable: 4,
  refused: 5,
  noCommand: 7,
  noAddress: 8,
} as const;

const reply = (code: number): Buffer => Buffer.from([VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0]);

interface Target {
  host: string;
  port: number;
}

/** A client that does not keep to the protocol; `code` is what it is told. */
class Nonsense extends Error {
  constructor(readonly code?: number) {
    super("not SOCKS5");
  }
}

/** What a client says before it has its connection. */
class Words {
  readonly #client: Socket;
  #held: Buffer = Buffer.alloc(0);
  #over = false;
  #wake = (): void => {};

  constructor(client: Socket) {
    this.#client = client.on("data", this.#hear).once("end", this.#end).once("close", this.#end);
  }

  readonly #hear = (chunk: Buffer): void => {
    this.#held = Buffer.concat([this.#held, chunk]);
    this.#wake();
  };

  readonly #end = (): void => {
    this.#over = true;
    this.#wake();
  };

  /** The next `count` bytes. */
  async take(count: number): Promise<Buffer> {
    while (this.#held.length < count) {
      if (this.#over) throw new Nonsense();
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const bytes = this.#held.subarray(0, count);
    this.#held = this.#held.subarray(count);
    return bytes;
  }

  /** Leaves the rest to whoever reads next. */
  end(): void {
    this.#client.off("data", this.#hear).pause();
    if (this.#held.length > 0) this.#client.unshift(this.#held);
  }
}

async function handshake(client: Socket): Promise<Target> {
  const words = new Words(client);
  try {
    return await hearTarget(client, words);
  } finally {
    words.end();
  }
}

/** Greets the client and hears where it wants to go. */
async function hearTarget(client: Socket, words: Words): Promise<Target> {
  const [version, count = 0] = await words.take(2);
  if (version !== VERSION) throw new Nonsense();
  const methods = await words.take(count);
  const isOpen = methods.includes(NO_CREDENTIALS);
  client.write(Buffer.from([VERSION, isOpen ? NO_CREDENTIALS : NO_METHOD]));
  if (!isOpen) throw new Nonsense();
  const [again, command, , type] = await words.take(4);
  if (again !== VERSION) throw new Nonsense();
  if (command !== CONNECT) throw new Nonsense(REPLY.noCommand);
  const host = await readHost(words, type);
  const port = (await words.take(2)).readUInt16BE();
  return { host, port };
}

async function readHost(words: Words, type: number | undefined): Promise<string> {
  if (type === IPV4) return (await words.take(4)).join(".");
  if (type === IPV6) return (await words.take(16)).toString("hex").replace(/.{4}(?!$)/g, "$&:");
  if (type !== NAME) throw new Nonsense(REPLY.noAddress);
  const [length = 0] = await words.take(1);
  return (await words.take(length)).toString("latin1");
}

/** Why there is no connection, and what the client is told. */
function refusalOf(error: unknown): { code: number; reason: Denial["reason"]; message: string } {
  if (isPorticoError(error)) {
    const { message, details } = error;
    if (error.status === 403) {
      return { code: REPLY.forbidden, reason: (details?.["reason"] as BlockReason | undefined) ?? "invalid", message };
    }
    if (error.code === "name_not_resolved") return { code: REPLY.unreachable, reason: "name_not_resolved", message };
    return { code: REPLY.failed, reason: "invalid", message };
  }
  const cause = (error as NodeJS.ErrnoException | undefined)?.code ?? "connection closed";
  const message = `The host could not be reached: ${cause}.`;
  return { code: cause === "ECONNREFUSED" ? REPLY.refused : REPLY.unreachable, reason: "unreachable", message };
}

async function connected(socket: Socket, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      const late = Object.assign(new Error("connect timed out"), { code: "ETIMEDOUT" });
      timer = setTimeout(() => socket.destroy(late), timeoutMs);
      socket.once("connect", resolve).once("error", reject);
      socket.once("close", () => reject(new Error("closed")));
    });
  } finally {
    clearTimeout(timer);
  }
}

/** Takes leave of a client that gets no connection. */
function part(client: Socket, code: number | undefined): void {
  client.setTimeout(HANDSHAKE_MS);
  if (code === undefined) client.end();
  else client.end(reply(code));
  client.resume();
}

/** Starts a proxy on a free port of 127.0.0.1. Give each browser profile its own: the port is what tells them apart. */
export async function startEgressProxy(options: EgressProxyOptions): Promise<EgressProxy> {
  const { guard, log, connectTimeoutMs = 15_000 } = options;
  const denials: Denial[] = [];
  const clients = new Set<Socket>();
  const tunnels = new Map<Socket, Target>();
  let ownPort = 0;

  async function judge({ host, port }: Target): Promise<ResolvedAddress[]> {
    const addresses = await guard.checkHost(host, port);
    if (port === ownPort && addresses.some(({ address }) => addressKind(address) === "loopback")) {
      throw new PorticoError("forbidden", "The proxy does not connect to itself.", { details: { reason: "own_port" } });
    }
    return addresses;
  }

  function refuse(client: Socket, { host, port }: Target, error: unknown): void {
    const { code, reason, message } = refusalOf(error);
    denials.push({ at: Date.now(), host, port, reason, message });
    if (denials.length > KEPT_DENIALS) denials.shift();
    log?.debug({ host, port, reason }, "egress refused");
    part(client, code);
  }

  /** A connection to a judged address; it ends with the client's. */
  async function open(client: Socket, target: Target): Promise<Socket | undefined> {
    const lookup = pinnedLookup(await judge(target));
    if (client.destroyed) return undefined;
    const upstream = connect({ ...target, lookup, noDelay: true, allowHalfOpen: true });
    tunnels.set(upstream, target);
    upstream.once("close", () => tunnels.delete(upstream));
    client.once("close", () => upstream.destroy());
    await connected(upstream, connectTimeoutMs);
    return upstream;
  }

  async function serve(client: Socket): Promise<void> {
    client.setTimeout(HANDSHAKE_MS);
    const target = await handshake(client);
    client.setTimeout(0);
    const upstream = await open(client, target).catch((error: unknown) => {
      if (!client.destroyed) refuse(client, target, error);
      return undefined;
    });
    if (upstream === undefined) return;
    upstream.on("error", () => client.destroy()).once("close", () => client.destroy());
    client.write(reply(REPLY.connected));
    upstream.pipe(client);
    client.pipe(upstream);
  }

  const server = createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
    clients.add(client);
    client.once("close", () => clients.delete(client));
    for (const event of ["error", "timeout"]) client.on(event, () => client.destroy());
    serve(client).catch((error: unknown) => part(client, error instanceof Nonsense ? error.code : undefined));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  ownPort = (server.address() as AddressInfo).port;

  return {
    port: ownPort,
    url: `socks5://127.0.0.1:${ownPort}`,
    denied: (sinceMs = 0) => denials.filter(({ at }) => at >= sinceMs),
    async recheck() {
      await Promise.all([...tunnels].map(([upstream, target]) => judge(target).catch(() => upstream.destroy())));
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of [...tunnels.keys(), ...clients]) socket.destroy();
      await closed;
    },
  };
}
