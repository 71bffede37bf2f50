/**
 * A forward proxy for browsers: every request and every tunnel is judged by the guard when its connection is made, and
 * goes to a judged address only. So redirects, frames, sub-resources, WebSockets, workers and names that change their
 * address are covered without the browser's help. TLS stays end to end.
 */
import type { AgentOptions, IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, request, STATUS_CODES } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { isPorticoError, PorticoError } from "./errors.ts";
import { addressKind } from "./guard/addresses.ts";
import { pinnedLookup } from "./guard/fetch.ts";
import type { BlockReason, Denial, EgressProxy, EgressProxyOptions, ResolvedAddress } from "./guard/types.ts";

const KEPT_DENIALS = 200;
/** RFC 9110, 7.6.1: meant for this connection only. */
const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Raw headers without those of the hop and those that `Connection` names; `transfer-encoding` is Node's to set. */
function endToEnd(message: IncomingMessage): string[] {
  const named = new Set(
    (message.headers.connection ?? "")
      .toLowerCase()
      .split(",")
      .map((name) => name.trim()),
  );
  const kept: string[] = [];
  for (let i = 0; i < message.rawHeaders.length; i += 2) {
    const name = message.rawHeaders[i]!.toLowerCase();
    if (!HOP_BY_HOP.has(name) && !named.has(name)) kept.push(message.rawHeaders[i]!, message.rawHeaders[i + 1]!);
  }
  return kept;
}

/** The headers that go upstream: `Host` is the URL's, and a body whose length is unknown stays chunked. */
function requestHeaders(req: IncomingMessage, url: URL): string[] {
  const sent = ["host", url.host];
  const own = endToEnd(req);
  for (let i = 0; i < own.length; i += 2) if (own[i]!.toLowerCase() !== "host") sent.push(own[i]!, own[i + 1]!);
  if (req.headers["transfer-encoding"] !== undefined) sent.push("transfer-encoding", "chunked");
  return sent;
}

/** What is answered instead: 403 by the guard, 400 for nonsense, 502 for a host that cannot be reached. */
interface Refusal {
  status: number;
  reason: Denial["reason"];
  message: string;
}

function refusalOf(error: unknown): Refusal {
  if (isPorticoError(error)) {
    if (error.status === 403) {
      return {
        status: 403,
        reason: (error.details?.["reason"] as BlockReason | undefined) ?? "invalid",
        message: error.message,
      };
    }
    if (error.code === "name_not_resolved") return { status: 502, reason: "name_not_resolved", message: error.message };
    return { status: 400, reason: "invalid", message: error.message };
  }
  const cause = (error as NodeJS.ErrnoException | undefined)?.code ?? "connection closed";
  return { status: 502, reason: "invalid", message: `The host could not be reached: ${cause}.` };
}

const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

function page({ status, reason, message }: Refusal): { status: number; headers: Record<string, string>; body: string } {
  const title = status === 403 ? "Blocked" : "Not reachable";
  const body = `<!doctype html><meta charset="utf-8"><title>${title}</title><h1>${title}</h1><p>${escapeHtml(message)}</p>\n`;
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "content-length": String(Buffer.byteLength(body)),
    "cache-control": "no-store",
    ...(status === 403 ? { "x-portico-blocked": reason } : { "x-portico-unreachable": reason }),
  };
  return { status, headers, body };
}

function answer(res: ServerResponse, refusal: Refusal): void {
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  const { status, headers, body } = page(refusal);
  res.writeHead(status, headers);
  res.end(body);
}

type Judge = (host: string, port: number) => Promise<ResolvedAddress[]>;

/** An agent whose new connections are judged and pinned; one taken from the pool was judged when it was made. */
function judgingAgent(judge: Judge, connectTimeoutMs: number, options: AgentOptions): Agent {
  const agent = new Agent(options);
  const open = (
    asked: { host?: string; port?: number | string },
    done: (error: Error | null, socket?: Socket) => void,
  ): void => {
    const port = Number(asked.port);
    judge(asked.host ?? "", port).then(
      (addresses) => done(null, connectTo(asked.host ?? "", port, addresses, connectTimeoutMs)),
      (error: Error) => done(error),
    );
  };
  return Object.assign(agent, { createConnection: open });
}

function connectTo(host: string, port: number, addresses: readonly ResolvedAddress[], timeoutMs: number): Socket {
  const socket = connect({ host, port, lookup: pinnedLookup(addresses), noDelay: true, allowHalfOpen: true });
  const timer = setTimeout(
    () => socket.destroy(Object.assign(new Error("connect timed out"), { code: "ETIMEDOUT" })),
    timeoutMs,
  );
  const clear = (): void => clearTimeout(timer);
  return socket.once("connect", clear).once("close", clear);
}

/** Starts a proxy on a free port of 127.0.0.1. Give each browser profile its own: the port is what tells them apart. */
export async function startEgressProxy(options: EgressProxyOptions): Promise<EgressProxy> {
  const { guard, log, connectTimeoutMs = 15_000 } = options;
  const denials: Denial[] = [];
  const listeners = new Set<(denial: Denial) => void>();
  const tunnels = new Set<Duplex>();
  let ownPort = 0;

  const judge: Judge = async (host, port) => {
    const addresses = await guard.checkHost(host, port);
    if (port === ownPort && addresses.some(({ address }) => addressKind(address) === "loopback")) {
      throw new PorticoError("forbidden", "The proxy does not connect to itself.", { details: { reason: "own_port" } });
    }
    return addresses;
  };
  const pooled = judgingAgent(judge, connectTimeoutMs, { keepAlive: true, maxFreeSockets: 64, timeout: 60_000 });
  // A request that must not be sent twice never meets a pooled connection that the server is just closing.
  const single = judgingAgent(judge, connectTimeoutMs, { keepAlive: false });

  function refuse(error: unknown, host: string, port: number, target: string): Refusal {
    const refusal = refusalOf(error);
    if (refusal.status !== 403) return refusal;
    const denial: Denial = { at: Date.now(), host, port, target, reason: refusal.reason, message: refusal.message };
    denials.push(denial);
    if (denials.length > KEPT_DENIALS) denials.shift();
    log?.debug({ host, port, reason: refusal.reason }, "egress refused");
    for (const listener of listeners) listener(denial);
    return refusal;
  }

  function forward(req: IncomingMessage, res: ServerResponse): void {
    const target = req.url ?? "";
    const url = URL.canParse(target) ? new URL(target) : undefined;
    if (url === undefined || url.protocol !== "http:") {
      answer(res, {
        status: 400,
        reason: "invalid",
        message: "This is a forward proxy: send absolute http:// URLs or CONNECT.",
      });
      return;
    }
    try {
      guard.precheck(url);
    } catch (error) {
      answer(res, refuse(error, url.hostname, Number(url.port || 80), url.href));
      return;
    }
    exchange(req, res, url, req.method === "GET" || req.method === "HEAD");
  }

  function exchange(req: IncomingMessage, res: ServerResponse, url: URL, repeatable: boolean): void {
    const port = Number(url.port || 80);
    const body = req.headers["transfer-encoding"] !== undefined || Number(req.headers["content-length"] ?? 0) > 0;
    const upstream = request({
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port,
      method: req.method,
      path: url.pathname + url.search,
      headers: requestHeaders(req, url),
      agent: repeatable && !body ? pooled : single,
    });
    const gone = (): void => void upstream.destroy();
    res.once("close", gone);
    upstream.once("response", (message) => {
      res.sendDate = false;
      res.writeHead(message.statusCode ?? 502, message.statusMessage, endToEnd(message));
      // Not `pipeline`: what it makes for each use costs a third of the time of a small request.
      message.once("close", () => {
        if (!message.complete) res.destroy();
      });
      message.pipe(res);
    });
    upstream.on("error", (error) => {
      res.off("close", gone);
      if (res.destroyed) return;
      const stale = upstream.reusedSocket && repeatable && !body && !res.headersSent;
      if (stale) exchange(req, res, url, true);
      else answer(res, refuse(error, url.hostname, port, url.href));
    });
    if (body) req.pipe(upstream);
    else upstream.end();
  }

  async function tunnel(req: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const target = req.url ?? "";
    const [, host = "", portText = ""] = /^(.+):(\d{1,5})$/.exec(target) ?? [];
    const port = Number(portText);
    client.on("error", () => client.destroy());
    let upstream: Socket | undefined;
    try {
      const name = host.replace(/^\[|\]$/g, "");
      const addresses = await judge(name, port);
      if (client.destroyed) return;
      upstream = connectTo(name, port, addresses, connectTimeoutMs);
      tunnels.add(upstream);
      client.once("close", () => upstream?.destroy());
      await new Promise<void>((resolve, reject) => {
        upstream!.once("connect", resolve).once("error", reject);
        upstream!.once("close", () => reject(new Error("closed")));
      });
    } catch (error) {
      if (upstream !== undefined) tunnels.delete(upstream);
      const { headers, body, status } = page(refuse(error, host, port, target));
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      if (client.writable)
        client.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}connection: close\r\n\r\n${body}`);
      return;
    }
    const open = upstream;
    open.once("close", () => {
      tunnels.delete(open);
      client.destroy();
    });
    open.on("error", () => client.destroy());
    client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    if (head.length > 0) open.write(head);
    open.pipe(client);
    client.pipe(open);
  }

  const server = createServer({ requestTimeout: 0, keepAliveTimeout: 60_000 }, forward);
  const clients = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    clients.add(socket);
    socket.once("close", () => clients.delete(socket));
  });
  server.on("connect", (req: IncomingMessage, client: Duplex, head: Buffer) => void tunnel(req, client, head));
  server.on("clientError", (_error, socket) => void socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  ownPort = (server.address() as AddressInfo).port;

  return {
    port: ownPort,
    url: `http://127.0.0.1:${ownPort}`,
    denied: (sinceMs = 0) => denials.filter(({ at }) => at >= sinceMs),
    onDenied(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of [...tunnels, ...clients]) socket.destroy();
      pooled.destroy();
      single.destroy();
      await closed;
    },
  };
}
