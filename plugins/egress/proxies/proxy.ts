/**
 * A SOCKS5 proxy (RFC 1928) for browsers. The guard checks the name and the addresses of every new connection, which then
 * uses a checked address only. So redirects, frames, sub-resources, WebSockets, workers and names that change their
 * address are covered without the browser's help. Data passes unchanged: TLS stays end to end, and a request costs almost
 * nothing.
 */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { isPorticoError, withDeadline } from "portico";
import { addressKind } from "../addresses.ts";
import { errors } from "../errors.ts";
import { pinnedLookup } from "../fetch.ts";
import { handshake, ProtocolError, REPLY, encodeReply, type Target } from "./socks.ts";
import { dialProxy, proxyAddress, tunnel } from "./upstream-proxy.ts";
import type {
  BlockReason,
  Denial,
  EgressProxy,
  EgressProxyOptions,
  ResolvedAddress,
} from "../types.ts";

const MAX_DENIALS = 200;
/** The time in which a client must send its target. */
const HANDSHAKE_MS = 15_000;

/** Returns the reason why a connection failed, and the reply code for the client. */
function explainFailure(error: unknown): {
  code: number;
  reason: Denial["reason"];
  message: string;
} {
  if (isPorticoError(error)) {
    const { message, details } = error;
    if (error.status === 403) {
      return {
        code: REPLY.forbidden,
        reason: (details?.["reason"] as BlockReason | undefined) ?? "invalid",
        message,
      };
    }
    if (error.code === "name_not_resolved")
      return { code: REPLY.unreachable, reason: "name_not_resolved", message };
    return { code: REPLY.failed, reason: "invalid", message };
  }
  const cause = (error as NodeJS.ErrnoException | undefined)?.code ?? "connection closed";
  const message = `The host could not be reached: ${cause}.`;
  return {
    code: cause === "ECONNREFUSED" ? REPLY.refused : REPLY.unreachable,
    reason: "unreachable",
    message,
  };
}

async function waitForConnection(socket: Socket, timeoutMs: number): Promise<void> {
  const done = new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve).once("error", reject);
    socket.once("close", () => reject(new Error("closed")));
  });
  try {
    await withDeadline(done, timeoutMs, () =>
      Object.assign(new Error("connect timed out"), { code: "ETIMEDOUT" }),
    );
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Ends the connection to a client, with a reply if there is a code. */
function closeClient(client: Socket, code: number | undefined): void {
  client.setTimeout(HANDSHAKE_MS);
  if (code === undefined) client.end();
  else client.end(encodeReply(code));
  client.resume();
}

/**
 * Starts a proxy on a free port of 127.0.0.1. Each browser profile needs its own, since only the port distinguishes them.
 */
export async function startEgressProxy(options: EgressProxyOptions): Promise<EgressProxy> {
  const proxy = new SocksProxy(options);
  await proxy.listen();
  return proxy;
}

class SocksProxy implements EgressProxy {
  readonly #options: EgressProxyOptions;
  readonly #connectTimeoutMs: number;
  /** The proxy through which this one connects, if any. */
  readonly #upstreamProxy: URL | undefined;
  readonly #denials: Denial[] = [];
  readonly #clients = new Set<Socket>();
  readonly #tunnels = new Map<Socket, Target>();
  readonly #server: Server;
  /** Stored, because a closed server has no address while requests may still be running. */
  #port = 0;

  constructor(options: EgressProxyOptions) {
    this.#options = options;
    this.#connectTimeoutMs = options.connectTimeoutMs ?? 15_000;
    this.#upstreamProxy =
      options.proxyUrl === undefined ? undefined : proxyAddress(options.proxyUrl);
    this.#server = createServer({ noDelay: true, allowHalfOpen: true }, (client) =>
      this.#accept(client),
    );
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(0, "127.0.0.1", resolve);
    });
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `socks5://127.0.0.1:${this.port}`;
  }

  denied(sinceMs = 0): Denial[] {
    return this.#denials.filter(({ at }) => at >= sinceMs);
  }

  async recheck(): Promise<void> {
    const tunnels = [...this.#tunnels];
    await Promise.all(
      tunnels.map(([upstream, target]) => this.#check(target).catch(() => upstream.destroy())),
    );
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of [...this.#tunnels.keys(), ...this.#clients]) socket.destroy();
    await closed;
  }

  #accept(client: Socket): void {
    this.#clients.add(client);
    client.once("close", () => this.#clients.delete(client));
    for (const event of ["error", "timeout"]) client.on(event, () => client.destroy());
    this.#serve(client).catch((error: unknown) =>
      closeClient(client, error instanceof ProtocolError ? error.code : undefined),
    );
  }

  async #serve(client: Socket): Promise<void> {
    client.setTimeout(HANDSHAKE_MS);
    if (!(await this.#mayUse(client))) {
      this.#options.log?.warn(
        {},
        "the browser's proxy refused a connection from a process that does not belong to the browser",
      );
      client.destroy();
      return;
    }
    const target = await handshake(client);
    client.setTimeout(0);
    const upstream = await this.#open(client, target).catch((error: unknown) => {
      if (!client.destroyed) this.#refuse(client, target, error);
      return undefined;
    });
    if (upstream === undefined) return;
    upstream.on("error", () => client.destroy()).once("close", () => client.destroy());
    client.write(encodeReply(REPLY.connected));
    upstream.pipe(client);
    client.pipe(upstream);
  }

  /** True if the process at the other end may use the proxy. */
  async #mayUse({ remotePort, localPort }: Socket): Promise<boolean> {
    const { isClient } = this.#options;
    if (isClient === undefined) return true;
    if (remotePort === undefined || localPort === undefined) return false;
    return isClient({ remotePort, localPort });
  }

  async #check({ host, port }: Target): Promise<ResolvedAddress[]> {
    const addresses = await this.#options.guard.checkHost(host, port);
    const isLoopback = addresses.some(({ address }) => addressKind(address) === "loopback");
    if (port === this.port && isLoopback)
      throw errors.ownProxy({ details: { reason: "own_port" } });
    return addresses;
  }

  /** Connects to a checked address. The connection ends with the client's. */
  async #open(client: Socket, target: Target): Promise<Socket | undefined> {
    const addresses = await this.#check(target);
    if (client.destroyed) return undefined;
    const proxy = this.#upstreamProxy;
    const upstream = proxy
      ? dialProxy(proxy)
      : connect({ ...target, lookup: pinnedLookup(addresses), noDelay: true, allowHalfOpen: true });
    this.#tunnels.set(upstream, target);
    upstream.once("close", () => this.#tunnels.delete(upstream));
    client.once("close", () => upstream.destroy());
    await waitForConnection(upstream, this.#connectTimeoutMs);
    if (proxy === undefined) return upstream;
    const opening = tunnel(upstream, proxy, addresses[0]!.address, target.port);
    await withDeadline(opening, this.#connectTimeoutMs, () => {
      upstream.destroy();
      return Object.assign(new Error("the upstream proxy does not respond"), { code: "ETIMEDOUT" });
    });
    return upstream;
  }

  #refuse(client: Socket, { host, port }: Target, error: unknown): void {
    const { code, reason, message } = explainFailure(error);
    this.#denials.push({ at: Date.now(), host, port, reason, message });
    if (this.#denials.length > MAX_DENIALS) this.#denials.shift();
    this.#options.log?.debug({ host, port, reason }, "egress refused");
    closeClient(client, code);
  }
}
