/** Connects through an upstream proxy, which some networks require: HTTP CONNECT (RFC 9110) or SOCKS5 (RFC 1928, 1929). */
import { connect, isIPv6, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { errors } from "../errors.ts";
import { parseUrl } from "portico/strings";
import { HandshakeReader } from "./socks.ts";

const MAX_HEAD_BYTES = 16 * 1024;
const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  "http:": 80,
  "https:": 443,
  "socks5:": 1080,
};

/** SOCKS5 writes the length of each credential into one byte (RFC 1929). */
const MAX_SOCKS_CREDENTIAL_BYTES = 255;

/** Parses the address of a proxy. Throws 400 `invalid_request_error` if it is invalid. */
export function proxyAddress(text: string): URL {
  const url = parseUrl(text);
  if (url === undefined || !Object.hasOwn(DEFAULT_PORTS, url.protocol) || url.hostname === "")
    throw errors.badProxy({ param: "proxy" });
  const lengths = [url.username, url.password].map(decodedLength);
  if (url.protocol === "socks5:" && Math.max(...lengths) > MAX_SOCKS_CREDENTIAL_BYTES)
    throw errors.proxyCredentialsTooLong({ param: "proxy" });
  return url;
}

function decodedLength(credential: string): number {
  try {
    return Buffer.byteLength(decodeURIComponent(credential));
  } catch (cause) {
    throw errors.badProxy({ param: "proxy", cause });
  }
}

/** Starts a connection to the proxy itself. */
export function dialProxy({ protocol, hostname, port }: URL): Socket {
  const host = hostname.replace(/^\[|\]$/g, "");
  const at = {
    host,
    port: Number(port) || (DEFAULT_PORTS[protocol] as number),
    allowHalfOpen: true,
  };
  return protocol === "https:"
    ? connectTls({ ...at, servername: host })
    : connect({ ...at, noDelay: true });
}

/** Asks the proxy to connect to an address. Rejects if the proxy refuses. */
export async function tunnel(
  socket: Socket,
  proxy: URL,
  address: string,
  port: number,
): Promise<void> {
  const reader = new HandshakeReader(socket);
  try {
    await (proxy.protocol === "socks5:" ? connectSocks : connectHttp)(
      socket,
      reader,
      proxy,
      address,
      port,
    );
  } catch (cause) {
    socket.destroy();
    throw Object.assign(new Error("the upstream proxy refused the connection", { cause }), {
      code: "the upstream proxy refused the connection",
    });
  } finally {
    reader.end();
  }
}

async function connectHttp(
  socket: Socket,
  reader: HandshakeReader,
  proxy: URL,
  address: string,
  port: number,
): Promise<void> {
  const host = `${isIPv6(address) ? `[${address}]` : address}:${port}`;
  const { username, password } = proxy;
  const pair = Buffer.from(
    `${decodeURIComponent(username)}:${decodeURIComponent(password)}`,
  ).toString("base64");
  const credentials =
    username === "" && password === "" ? "" : `Proxy-Authorization: Basic ${pair}\r\n`;
  socket.write(`CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n${credentials}\r\n`);
  const head = (await reader.takeUntil("\r\n\r\n", MAX_HEAD_BYTES)).toString("latin1");
  if (!/^HTTP\/1\.[01] 2\d\d\b/.test(head)) throw new Error(head.split("\r\n")[0]);
}

async function connectSocks(
  socket: Socket,
  reader: HandshakeReader,
  proxy: URL,
  address: string,
  port: number,
): Promise<void> {
  const [user, password] = [proxy.username, proxy.password].map((text) =>
    Buffer.from(decodeURIComponent(text)),
  );
  const hasUser = user!.length > 0;
  socket.write(Buffer.from(hasUser ? [5, 2, 0, 2] : [5, 1, 0]));
  const [, method] = await reader.take(2);
  if (method === 2 && hasUser) {
    socket.write(
      Buffer.concat([
        Buffer.from([1, user!.length]),
        user!,
        Buffer.from([password!.length]),
        password!,
      ]),
    );
    if ((await reader.take(2))[1] !== 0) throw new Error("credentials");
  } else if (method !== 0) throw new Error("method");
  const addressBytes = isIPv6(address)
    ? Buffer.from([4, ...ipv6Bytes(address)])
    : Buffer.from([1, ...address.split(".").map(Number)]);
  socket.write(
    Buffer.concat([Buffer.from([5, 1, 0]), addressBytes, Buffer.from([port >> 8, port & 0xff])]),
  );
  const [, status, , type] = await reader.take(4);
  await reader.take((await addressLength(reader, type)) + PORT_BYTES);
  if (status !== 0) throw new Error(`status ${status}`);
}

const PORT_BYTES = 2;

/** Returns the length in bytes of the address that follows: IPv4, IPv6, or a name with a length byte before it. */
async function addressLength(reader: HandshakeReader, type: number | undefined): Promise<number> {
  if (type === 1) return 4;
  if (type === 4) return 16;
  const [length = 0] = await reader.take(1);
  return length;
}

/** Encodes an IPv6 address, which may end in dotted IPv4 form, as 16 bytes. */
function ipv6Bytes(address: string): number[] {
  const normalized = new URL(`http://[${address.split("%")[0]}]/`).hostname.slice(1, -1);
  const [head = "", tail] = normalized.split("::");
  const groups = (text: string): number[] =>
    text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
  const [before, after] = [groups(head), tail === undefined ? [] : groups(tail)];
  const whole = [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
  return whole.flatMap((group) => [group >> 8, group & 0xff]);
}
