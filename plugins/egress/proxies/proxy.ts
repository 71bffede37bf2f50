/**
 * A SOCKS5 proxy (RFC 1928) for browsers: the guard judges every connection when it is made, by name and by address, and
 * it goes to a judged address only. So redirects, frames, sub-resources, WebSockets, workers and names that change their
 * address are covered without the browser's help. What passes is not touched: TLS stays end to end, and a request costs
 * next to nothing.
 */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { isPorticoError, PorticoError, withDeadline } from "portico";
import { addressKind } from "../addresses.ts";
import { pinnedLookup } from "../fetch.ts";
import { handshake, ProtocolError, REPLY, reply, type Target } from "./socks.ts";
import { dialProxy, proxyAddress, tunnel } from "./upstream-proxy.ts";
import type {
  BlockReason,
  Denial,
  EgressProxy,
  EgressProxyOptions,
  ResolvedAddress,
} from "../types.ts";

const KEPT_DENIALS = 200;
/** A client says in that time where it wants to go. */
const HANDSHAKE_MS = 15_000;

/** Why there is no connection, and what the client is told. */
function refusalOf(error: unknown): { code: number; reason: Denial["reason"]; message: string } {
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

async function connected(socket: Socket, timeoutMs: number): Promise<void> {
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

/** Ends a client that gets no connection. */
function dismiss(client: Socket, code: number | undefined): void {
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
  const proxy = options.proxyUrl === undefined ? undefined : proxyAddress(options.proxyUrl);
  let ownPort = 0;

  async function judge({ host, port }: Target): Promise<ResolvedAddress[]> {
    const addresses = await guard.checkHost(host, port);
    if (port === ownPort && addresses.some(({ address }) => addressKind(address) === "loopback")) {
      throw new PorticoError("forbidden", "The proxy does not connect to itself.", {
        details: { reason: "own_port" },
      });
    }
    return addresses;
  }

  function refuse(client: Socket, { host, port }: Target, error: unknown): void {
    const { code, reason, message } = refusalOf(error);
    denials.push({ at: Date.now(), host, port, reason, message });
    if (denials.length > KEPT_DENIALS) denials.shift();
    log?.debug({ host, port, reason }, "egress refused");
    dismiss(client, code);
  }

  /** A connection to a judged address; it ends with the client's. */
  async function open(client: Socket, target: Target): Promise<Socket | undefined> {
    const addresses = await judge(target);
    if (client.destroyed) return undefined;
    const upstream = proxy
      ? dialProxy(proxy)
      : connect({ ...target, lookup: pinnedLookup(addresses), noDelay: true, allowHalfOpen: true });
    tunnels.set(upstream, target);
    upstream.once("close", () => tunnels.delete(upstream));
    client.once("close", () => upstream.destroy());
    await connected(upstream, connectTimeoutMs);
    if (proxy === undefined) return upstream;
    const asking = tunnel(upstream, proxy, addresses[0]!.address, target.port);
    await withDeadline(asking, connectTimeoutMs, () => {
      upstream.destroy();
      return Object.assign(new Error("the upstream proxy is silent"), { code: "ETIMEDOUT" });
    });
    return upstream;
  }

  /** Whether the process at the other end may use the proxy. */
  async function mayUse({ remotePort, localPort }: Socket): Promise<boolean> {
    if (options.isClient === undefined) return true;
    if (remotePort === undefined || localPort === undefined) return false;
    return options.isClient({ remotePort, localPort });
  }

  async function serve(client: Socket): Promise<void> {
    client.setTimeout(HANDSHAKE_MS);
    if (!(await mayUse(client))) {
      log?.warn({}, "a process that is not the browser's was refused by its egress proxy");
      client.destroy();
      return;
    }
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
    serve(client).catch((error: unknown) =>
      dismiss(client, error instanceof ProtocolError ? error.code : undefined),
    );
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
      await Promise.all(
        [...tunnels].map(([upstream, target]) => judge(target).catch(() => upstream.destroy())),
      );
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of [...tunnels.keys(), ...clients]) socket.destroy();
      await closed;
    },
  };
}
