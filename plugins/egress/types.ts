/**
 * The destinations that a caller may reach. Each surface (browser profile, polls, images) has one policy, read again at
 * each check.
 */
export interface GuardPolicy {
  /**
   * Allows private, loopback and other non-public addresses. Metadata services, link-local addresses and the gateway's own
   * ports are never allowed.
   */
  allowPrivate: boolean;
  /** If it is not empty, only these hosts may be reached: a name, or `*.d` for the names below `d` (not `d` itself). */
  hostnameAllowlist?: readonly string[] | undefined;
  /** Names (with the same patterns) that may resolve to private addresses even if `allowPrivate` is false. */
  allowedHostnames?: readonly string[] | undefined;
  /** Exact origins (`http://127.0.0.1:8080`) that may be private even if `allowPrivate` is false. */
  allowedOrigins?: readonly string[] | undefined;
}

export interface ResolvedAddress {
  address: string;
  family: 4 | 6;
}

/** Resolves with all addresses of a name, as `dns.promises.lookup(name, {all: true})` does. Rejects if there are none. */
export type LookupAll = (hostname: string) => Promise<readonly ResolvedAddress[]>;

/** The reason of a refusal, in `error.details.reason`. */
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
  /** Returns the gateway's own ports (gateway, control, relay, proxies). The guard always adds 18800–18899. */
  ownPorts: () => readonly number[];
  /**
   * Returns further addresses at which these ports are forbidden, besides this machine's own: on a node, the gateway's
   * address.
   */
  ownAddresses?: (() => readonly string[]) | undefined;
  /**
   * The error code of refusals. Default: `navigation_blocked`, which browser routes use; other surfaces use
   * `address_blocked`.
   */
  code?: "navigation_blocked" | "address_blocked" | undefined;
}

/** A URL that passed the checks, with the only addresses to which a connection is allowed. `about:blank` has none. */
export interface CheckedUrl {
  url: URL;
  addresses: ResolvedAddress[];
}

/**
 * Decides where the gateway may connect. A refusal is a `PorticoError` (403, the guard's code) with
 * `details: {reason, host}`. A malformed URL is 400 `invalid_request_error`, a name without addresses 502
 * `name_not_resolved`.
 */
export interface Guard {
  /**
   * Performs the checks that need no DNS lookup: syntax, scheme, userinfo, allowlist, literal addresses, names that are
   * private by form.
   */
  precheck(url: string | URL): URL;
  /** Performs `precheck`, then checks every address of the name. One forbidden address refuses the URL. */
  checkUrl(url: string | URL): Promise<CheckedUrl>;
  /** Checks one connection of any protocol over TCP. `host` is spelled as in a URL (brackets allowed). */
  checkHost(host: string, port: number, origin?: string): Promise<ResolvedAddress[]>;
}

export interface GuardedFetchOptions {
  method?: string | undefined;
  headers?: Record<string, string> | undefined;
  body?: string | Uint8Array | undefined;
  /** The maximum size of the decoded body, in bytes; default 10 MiB. Beyond it: 502 `response_too_large`. */
  maxBytes?: number | undefined;
  /** Resolves as soon as status and headers have arrived, with an empty body. */
  headOnly?: boolean | undefined;
  /** The time for the whole exchange, including redirects; default 30000. Beyond it: 504 `upstream_timeout`. */
  timeoutMs?: number | undefined;
  /** The maximum number of redirects, each of which is checked again; default 5. Beyond it: 502 `too_many_redirects`. */
  redirects?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** The type of the platform's `fetch`, which libraries accept. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Limits for the responses of `createFetch`. */
export interface FetchLimits {
  /** The maximum size of a decoded body, or of one event in an event stream. Beyond it: 502 `response_too_large`. */
  maxBytes: number;
  /** The time for the whole exchange, or until the head of an event stream. Beyond it: 504 `upstream_timeout`. */
  timeoutMs: number;
  /** The longest silence of an event stream, in ms. */
  idleMs: number;
  /** Called when an event is too large. Without it, many libraries would reopen the broken stream and wait forever. */
  onOversizedEvent?: ((error: Error) => void) | undefined;
}

export interface GuardedResponse {
  status: number;
  /** Names in lower case; repeated ones joined with `, `. */
  headers: Record<string, string>;
  /** The decoded body (gzip, deflate, br). */
  body: Buffer;
  /** The URL of the response after redirects. */
  url: string;
  /** The number of redirects that were followed. */
  redirected: number;
}

/** A connection that the egress proxy refused, or could not open. */
export interface Denial {
  /** Milliseconds since the epoch. */
  at: number;
  host: string;
  port: number;
  /** A `BlockReason` if the guard refused the connection. */
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
  /** Resolves with true if a client may use the proxy. By default, every process of this machine may. */
  isClient?: ((peer: { remotePort: number; localPort: number }) => Promise<boolean>) | undefined;
  /** The timeout for connecting to a target, in ms; default 15000. */
  connectTimeoutMs?: number | undefined;
  /**
   * An upstream proxy for all connections: `http://`, `https://` or `socks5://`, with credentials if it requires them. It
   * receives checked addresses, never names.
   */
  proxyUrl?: string | undefined;
}

/** A SOCKS5 proxy on 127.0.0.1 with a port of its own (one per browser profile). */
export interface EgressProxy {
  readonly port: number;
  /** `socks5://127.0.0.1:<port>`, as `--proxy-server` takes it. */
  readonly url: string;
  /** Returns the last 200 denials, oldest first. With `sinceMs` (epoch), returns only those at or after it. */
  denied(sinceMs?: number): Denial[];
  /** Checks the open connections again and ends those that the policy no longer allows. For use after a policy change. */
  recheck(): Promise<void>;
  /** Ends every connection and stops listening. */
  close(): Promise<void>;
}
