/** What the HTTP layer reads of the configuration. Asked for at every use, so that a changed file applies at once. */
export interface HttpSettings {
  /** The largest body of a route that names no limit of its own; bytes. */
  readonly maxBodyBytes: number;
  /** Origins of web pages that may call (`https://app.example`); each gets CORS headers. Exact, no wildcards. */
  readonly allowedOrigins: readonly string[];
  /** Host names (`gw.example`, any port) or `name:port` that are taken beside the loopback names. */
  readonly allowedHosts: readonly string[];
  /** Addresses or CIDR ranges of proxies whose `X-Forwarded-For` counts. */
  readonly trustedProxies: readonly string[];
  /** How long a client may take for its request head. */
  readonly headersTimeoutMs: number;
  /** How long a client may take for each 64 KiB of a body, and for its end. */
  readonly bodyTimeoutMs: number;
}
