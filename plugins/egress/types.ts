/** What a caller may reach. Each surface (browser profile, polls, images) has one policy, read again at each check. */
export interface GuardPolicy {
  /** Private, loopback and other non-public addresses are allowed. Metadata, link-local and our own ports never are. */
  allowPrivate: boolean;
  /** Where it is not empty, only these hosts may be reached: a name, or `*.d` for the names below `d` (not `d` itself). */
  hostnameAllowlist?: readonly string[] | undefined;
  /** Names (same patterns) that may resolve to private addresses though `allowPrivate` is false. */
  allowedHostnames?: readonly string[] | undefined;
  /** Exact origins (`http://127.0.0.1:8080`) that may be private though `allowPrivate` is false. */
  allowedOrigins?: readonly string[] | undefined;
}

export interface ResolvedAddress {
  address: string;
  family: 4 | 6;
}

/** All addresses of a name, as `dns.promises.lookup(name, {all: true})` gives them. Rejects where there are none. */
export type LookupAll = (hostname: string) => Promise<readonly ResolvedAddress[]>;

/** Why something was refused; in `error.details.reason`. */
export type BlockReason =
  | "scheme"
  | "userinfo"
  | "not_allowlisted"
  | "own_port"
  | "metadata"
  | "link_local"
  | "private_address"
  | "private_name";

export interface GuardOptions {
  policy: () => GuardPolicy;
  /** Default: the operating system's resolver. */
  resolve?: LookupAll | undefined;
  /** The gateway's own ports (gateway, control, relay, proxies); 18800–18899 are always among them. */
  ownPorts: () => readonly number[];
  /** Addresses at which these ports are ours beside this machine's own: a node's gateway. */
  ownAddresses?: (() => readonly string[]) | undefined;
  /** The code of its refusals; default `navigation_blocked` (what browser routes send), elsewhere `address_blocked`. */
  code?: "navigation_blocked" | "address_blocked" | undefined;
}

/** A URL that passed, with the only addresses that may be connected to. `about:blank` has none. */
export interface CheckedUrl {
  url: URL;
  addresses: ResolvedAddress[];
}

/**
 * The one judge of where the gateway may connect to. Refusals are `PorticoError` (403, the guard's code) with
 * `details: {reason, host}`; a malformed URL is 400 `invalid_request_error`; a name without addresses is 502
 * `name_not_resolved`.
 */
export interface Guard {
  /** The checks that need no resolver: syntax, scheme, userinfo, allowlist, literal addresses, names that are private by form. */
  precheck(url: string | URL): URL;
  /** `precheck`, then every address of the name: one bad address refuses all. */
  checkUrl(url: string | URL): Promise<CheckedUrl>;
  /** One connection: `host` as it stands in a URL (brackets allowed), any scheme that rides on TCP. */
  checkHost(host: string, port: number, origin?: string): Promise<ResolvedAddress[]>;
}

export interface GuardedFetchOptions {
  method?: string | undefined;
  headers?: Record<string, string> | undefined;
  body?: string | Uint8Array | undefined;
  /** Of the decoded body, in bytes; default 10 MiB. Beyond it: 502 `response_too_large`. */
  maxBytes?: number | undefined;
  /** Status and headers are all that counts: the body is not waited for, and comes back empty. */
  headOnly?: boolean | undefined;
  /** Whole exchange, redirects included; default 30000. Beyond it: 504 `upstream_timeout`. */
  timeoutMs?: number | undefined;
  /** How many redirects are followed (each is checked again); default 5. Beyond it: 502 `too_many_redirects`. */
  redirects?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** The platform's `fetch`, as libraries ask for it. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** What bounds the responses of `createFetch`. */
export interface FetchLimits {
  /** Of a decoded body; of one event where it is an event stream. Beyond it: 502 `response_too_large`. */
  maxBytes: number;
  /** The whole exchange; of an event stream, until its head is there. Beyond it: 504 `upstream_timeout`. */
  timeoutMs: number;
  /** How long an event stream may send nothing. */
  idleMs: number;
  /** Called when an event is too large: many libraries would reopen the broken stream and wait for ever. */
  onOversizedEvent?: ((error: Error) => void) | undefined;
}

export interface GuardedResponse {
  status: number;
  /** Names in lower case; repeated ones joined with `, `. */
  headers: Record<string, string>;
  /** Decoded (gzip, deflate, br). */
  body: Buffer;
  /** Where the response came from, after redirects. */
  url: string;
  /** How many redirects were followed. */
  redirected: number;
}

/** One connection that the egress proxy did not make. */
export interface Denial {
  /** Milliseconds since the epoch. */
  at: number;
  host: string;
  port: number;
  /** A `BlockReason` where the guard refused it. */
  reason: BlockReason | "name_not_resolved" | "unreachable" | "invalid";
  message: string;
}

export interface EgressProxyOptions {
  guard: Guard;
  log?:
    | {
        debug(fields: object | string, message?: string): void;
        warn(fields: object | string, message?: string): void;
      }
    | undefined;
  /** Whether a client may use the proxy; by default every process of this machine may. */
  isClient?: ((peer: { remotePort: number; localPort: number }) => Promise<boolean>) | undefined;
  /** To connect to an upstream, ms; default 15000. */
  connectTimeoutMs?: number | undefined;
  /**
   * A further proxy that all connections go through: `http://`, `https://` or `socks5://`, with credentials where it asks
   * for them. It is asked for judged addresses, never for names.
   */
  proxyUrl?: string | undefined;
}

/** A SOCKS5 proxy on 127.0.0.1 with a port of its own (one per browser profile). */
export interface EgressProxy {
  readonly port: number;
  /** `socks5://127.0.0.1:<port>`, as `--proxy-server` takes it. */
  readonly url: string;
  /** The last 200 connections that were not made, oldest first; those at or after `sinceMs` (epoch) where it is given. */
  denied(sinceMs?: number): Denial[];
  /** Checks the open connections again and ends those that the policy no longer allows. For use after a policy change. */
  recheck(): Promise<void>;
  /** Ends every connection and stops listening. */
  close(): Promise<void>;
}
