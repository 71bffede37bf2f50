/** What plugins offer each other: services, and contributions with many owners. */
import type { IncomingMessage } from "node:http";
import type { Static, TSchema } from "@sinclair/typebox";
import type { Store } from "../store/types.ts";
import type { Logger } from "./common.ts";
import type { Client } from "./http.ts";

/** Service name → its interface. A plugin `provide`s one, others `use` it. */
export interface Services {
  store: Store;
  gateway: GatewayState;
}
export type ServiceName = keyof Services & string;

/** Contribution point → what is contributed to it (`tool`, `provider`, …): many owners, one list. */
export interface Contributions {
  tool: Tool;
  authenticator: Authenticator;
}
export type ContributionPoint = keyof Contributions & string;

/** What the kernel tells of itself; for metrics and the like. */
export interface GatewayState {
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** As in `GET /ready`. */
  notReady(): readonly { name: string; error: string }[];
  plugins(): readonly { name: string; state: string; error?: string }[];
  hooks(): readonly { name: string; state: string; root: string; runs: number; failures: number }[];
  /** Answered requests since the start, of the gateway's own server. `route` is a pattern, empty where none matched. */
  requests(): readonly { method: string; route: string; status: number; count: number }[];
  /** Requests that are being answered. */
  active(): number;
}

/** Something the agent (and MCP clients) can call. */
export interface Tool<P extends TSchema = TSchema> {
  /** `[A-Za-z][A-Za-z0-9_-]*`, at most 64 characters, unique over all plugins. */
  name: string;
  description: string;
  /** A TypeBox object schema; arguments are checked against it before the handler runs. */
  parameters: P;
  /** Returns text, or anything JSON can hold, or content parts for images. A throw becomes the tool's error result. */
  handler(args: Static<P>, call: ToolCall): unknown | Promise<unknown>;
  /** Deadline in ms; default 60000. */
  timeoutMs?: number;
}

export interface ToolCall {
  signal: AbortSignal;
  log: Logger;
  sessionKey: string;
  turnId?: string;
}

/** Turns a bearer token that is not the gateway's own into a client, or says that it does not know it. */
export interface Authenticator {
  name: string;
  authenticate(token: string, req: IncomingMessage): Client | undefined | Promise<Client | undefined>;
}
