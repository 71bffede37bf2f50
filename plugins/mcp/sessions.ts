/**
 * Sessions of MCP clients over Streamable HTTP, identified by `Mcp-Session-Id`. A session lets the server send requests to
 * its client during a call, and report changed resources. Sessions are limited in number and time, and belong to the
 * principal that opened them.
 */
import { randomUUID } from "node:crypto";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Call, Logger } from "portico";
import type { Access } from "portico/agent";
import type { Remote } from "./remote.ts";
import { Subscriptions } from "./subscriptions.ts";

const MAX_SESSIONS = 200;
const IDLE_MS = 30 * 60_000;
const SWEEP_MS = 60_000;

export interface Session {
  readonly id: string;
  readonly principal: string;
  readonly server: Server;
  readonly transport: StreamableHTTPServerTransport;
  readonly subscriptions: Subscriptions;
  /** The number of requests that have not ended, including the stream on which the client listens. */
  openRequests: number;
  lastUsed: number;
}

/** Creates the server of a session. */
export type CreateServer = (session: Pick<Session, "subscriptions">) => Server;

export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #sweeper: NodeJS.Timeout;
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
    this.#sweeper = setInterval(() => this.#closeIdle(), SWEEP_MS).unref();
  }

  /** Returns the session with that id if this principal opened it. */
  find(id: string, { principal }: Access): Session | undefined {
    const session = this.#sessions.get(id);
    return session?.principal === principal ? session : undefined;
  }

  async open({ principal }: Access, createServer: CreateServer): Promise<Session> {
    this.#makeRoom();
    const id = randomUUID();
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => id });
    const subscriptions = new Subscriptions(this.#log);
    const server = createServer({ subscriptions });
    const session: Session = {
      ...{ id, principal, server, transport, subscriptions },
      ...{ openRequests: 0, lastUsed: Date.now() },
    };
    // A DELETE request closes the transport, and thereby the session.
    server.onclose = () => this.#forget(session);
    await server.connect(transport as Parameters<Server["connect"]>[0]);
    this.#sessions.set(id, session);
    return session;
  }

  /** Renews the subscriptions of all clients to a server's resources on a new connection to it. */
  renewSubscriptions(remote: Remote): void {
    for (const { subscriptions } of this.#sessions.values()) subscriptions.renew(remote);
  }

  /** Passes a request to the session's transport, which writes the response. */
  async serve(session: Session, call: Call, message?: unknown): Promise<void> {
    session.openRequests += 1;
    call.res.once("close", () => {
      session.openRequests -= 1;
      session.lastUsed = Date.now();
    });
    await session.transport.handleRequest(call.req, call.res, message);
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    await Promise.all([...this.#sessions.values()].map(({ server }) => server.close()));
  }

  #forget(session: Session): void {
    this.#sessions.delete(session.id);
    session.subscriptions.end();
  }

  #closeIdle(): void {
    const threshold = Date.now() - IDLE_MS;
    for (const { server, openRequests, lastUsed } of this.#sessions.values())
      if (openRequests === 0 && lastUsed < threshold) void server.close();
  }

  /** Closes a session if there are too many: the least recently used one, preferably without open requests. */
  #makeRoom(): void {
    if (this.#sessions.size < MAX_SESSIONS) return;
    const byLastUse = [...this.#sessions.values()].sort((a, b) => a.lastUsed - b.lastUsed);
    const session = byLastUse.find(({ openRequests }) => openRequests === 0) ?? byLastUse[0];
    if (session === undefined) return;
    this.#forget(session);
    void session.server.close();
  }
}
