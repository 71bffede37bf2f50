/** A server of the kernel's own on a free port, and a client that sends exactly the bytes it is told to. */
import { connect, type Socket } from "node:net";
import { type AuthOptions, type AuthSettings, Auth } from "../../../kernel/http/access/auth.ts";
import { HttpServer } from "../../../kernel/http/server.ts";
import { createConnectionLimit } from "../../../kernel/http/connection-limit.ts";
import type { HttpSettings } from "../../../kernel/config/schema.ts";
import type { Logger } from "../../../kernel/contract/index.ts";
import { inject } from "../../support/inject.ts";
import { PATIENCE_MS } from "../../support/until.ts";

export interface Line {
  level: string;
  fields: Record<string, unknown>;
  message: string | undefined;
}

export interface TestServer {
  server: HttpServer;
  port: number;
  url: string;
  lines: Line[];
  settings: HttpSettings["http"] & Pick<HttpSettings, "trustedProxies">;
  credentials: { -readonly [K in keyof AuthSettings]: AuthSettings[K] };
}

export interface TestServerOptions {
  settings?: Partial<TestServer["settings"]>;
  auth?: AuthSettings;
  authenticators?: AuthOptions["authenticators"];
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
    authenticators: options.authenticators ?? (() => []),
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
  return { server, port, url: `http://127.0.0.1:${port}`, lines, settings, credentials };
}

/** For `test.after`: what a failed test left open must not keep the process alive. */
export async function closeAll(): Promise<void> {
  await Promise.all(open.splice(0).map((server) => server.close(0)));
}

export function collectLog(lines: Line[], bindings: Record<string, unknown> = {}): Logger {
  const at = (level: string) => (fields: object | string, message?: string) =>
    void lines.push(
      typeof fields === "string"
        ? { level, fields: bindings, message: fields }
        : { level, fields: { ...bindings, ...fields }, message },
    );
  return {
    trace: at("trace"),
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    fatal: at("fatal"),
    child: (more) => collectLog(lines, { ...bindings, ...more }),
  };
}

export interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Sends bytes and reads until the other side closes. */
export function exchange(port: number, bytes: string | Buffer): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    collect(socket).then((text) => resolve(parseAnswer(text)), reject);
  });
}

/** Everything that a socket receives until it closes. */
export function collect(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`the server did not close the connection; so far: ${text}`));
    }, PATIENCE_MS);
    socket.on("data", (chunk) => (text += chunk.toString("latin1")));
    socket.on("error", () => {});
    socket.resume();
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(text);
    });
  });
}

export function parseAnswer(text: string): RawAnswer {
  const end = text.indexOf("\r\n\r\n");
  const [status = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(":")).toLowerCase(),
      line.slice(line.indexOf(":") + 1).trim(),
    ]),
  );
  return { status: Number(status.split(" ")[1]), headers, body: text.slice(end + 4) };
}

/** A request head with `Connection: close`; `headers` may repeat names. */
export function head(
  method: string,
  path: string,
  headers: readonly (readonly [string, string])[],
): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `${method} ${path} HTTP/1.1\r\n${lines}connection: close\r\n\r\n`;
}

/** One request whose headers are exactly those given, and a `Host` unless they name one. */
export async function ask(
  { port, server }: { port: number; server: HttpServer },
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body = "",
): Promise<RawAnswer> {
  const all = {
    host: `127.0.0.1:${port}`,
    ...(body && { "content-length": String(Buffer.byteLength(body)) }),
    ...headers,
  };
  return parseAnswer(await inject(server, head(method, path, Object.entries(all)) + body));
}

export function codeOf(answer: RawAnswer): string {
  return (JSON.parse(answer.body) as { error: { code: string } }).error.code;
}
