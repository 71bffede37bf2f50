/** A server of the kernel on a free port, without a gateway: for what no setting of a gateway can arrange. */
import { type AuthOptions, type AuthSettings, Auth } from "../../../kernel/http/access/auth.ts";
import { HttpServer } from "../../../kernel/http/server.ts";
import { createConnectionLimit } from "../../../kernel/http/connection-limit.ts";
import type { HttpSettings } from "../../../kernel/config/schema.ts";
import { inject } from "../../support/inject.ts";
import type { RawServer } from "../../support/raw-http.ts";
import { collectLog, type Line } from "../../support/collect-log.ts";

export interface TestServer extends RawServer {
  server: HttpServer;
  url: string;
  lines: Line[];
  settings: HttpSettings["http"] & Pick<HttpSettings, "trustedProxies">;
  credentials: { -readonly [K in keyof AuthSettings]: AuthSettings[K] };
}

export interface TestServerOptions {
  settings?: Partial<TestServer["settings"]>;
  auth?: AuthSettings;
  throttle?: AuthOptions["throttle"];
  origins?: readonly string[];
  loopbackOnly?: boolean;
  host?: string;
  /** File handles that the process is said to have. */
  handles?: number;
}

const open: HttpServer[] = [];

export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  const lines: Line[] = [];
  const log = collectLog(lines);
  const settings: TestServer["settings"] = {
    maxBodyBytes: 1024 * 1024,
    maxValues: 100_000,
    maxMembers: 10_000,
    maxDepth: 100,
    maxConnections: "auto",
    maxConnectionsPerAddress: "auto",
    allowedOrigins: [],
    allowedHosts: [],
    trustedProxies: [],
    headersTimeoutMs: 10_000,
    bodyTimeoutMs: 10_000,
    ...options.settings,
  };
  const credentials: TestServer["credentials"] = options.auth ?? {
    token: "right-token",
    password: "right-password",
  };
  const auth = new Auth({
    settings: () => credentials,
    authenticators: () => [],
    log,
    ...(options.throttle && { throttle: options.throttle }),
  });
  const server = new HttpServer({
    name: "test",
    log,
    access: (entry) => log.info(entry, "request"),
    settings: () => ({ http: settings, trustedProxies: settings.trustedProxies }),
    auth,
    connectionLimit: createConnectionLimit(() => settings, options.handles),
    ...(options.origins && { origins: options.origins }),
    ...(options.loopbackOnly !== undefined && { loopbackOnly: options.loopbackOnly }),
  });
  open.push(server);
  const port = await server.listen(0, options.host ?? "127.0.0.1");
  const send = (bytes: string | Buffer) => inject(server, bytes);
  return { server, port, send, url: `http://127.0.0.1:${port}`, lines, settings, credentials };
}

/** For `test.after`: what a failed test left open must not keep the process alive. */
export async function closeAll(): Promise<void> {
  await Promise.all(open.splice(0).map((server) => server.close(0)));
}
