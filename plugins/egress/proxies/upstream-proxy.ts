/** A further proxy that connections go through, as a network asks for it: HTTP CONNECT (RFC 9110) or SOCKS5 (RFC 1928, 1929). */
import { connect, isIPv6, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { errors } from "../errors.ts";
import { parseUrl } from "portico/strings";
import { Opening } from "./socks.ts";

const MOST_HEAD_BYTES = 16 * 1024;
const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  "http:": 80,
  "https:": 443,
  "socks5:": 1080,
};

/** The address of such a proxy. 400 `invalid_request_error` for what is none. */
export function proxyAddress(text: string): URL {
  const url = parseUrl(text);
  if (url !== undefined && Object.hasOwn(DEFAULT_PORTS, url.protocol) && url.hostname !== "")
    return url;
  throw errors.badProxy({ param: "proxy" });
}

/** Begins to connect to the proxy itself. */
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

/** Asks the proxy for a connection to that address. Rejects where it makes none. */
export async function tunnel(
  socket: Socket,
  proxy: URL,
  address: string,
  port: number,
): Promise<void> {
  const opening = new Opening(socket);
  try {
    await (proxy.protocol === "socks5:" ? socks : httpConnect)(
      socket,
      opening,
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
    opening.end();
  }
}

async function httpConnect(
  socket: Socket,
  opening: Opening,
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
  const head = (await opening.takeUntil("\r\n\r\n", MOST_HEAD_BYTES)).toString("latin1");
  if (!/^HTTP\/1\.[01] 2\d\d\b/.test(head)) throw new Error(head.split("\r\n")[0]);
}

async function socks(
  socket: Socket,
  opening: Opening,
  proxy: URL,
  address: string,
  port: number,
): Promise<void> {
  const [user, password] = [proxy.username, proxy.password].map((text) =>
    Buffer.from(decodeURIComponent(text)),
  );
  const hasUser = user!.length > 0;
  socket.write(Buffer.from(hasUser ? [5, 2, 0, 2] : [5, 1, 0]));
  const [, method] = await opening.take(2);
  if (method === 2 && hasUser) {
    socket.write(
      Buffer.concat([
        Buffer.from([1, user!.length]),
        user!,
        Buffer.from([password!.length]),
        password!,
      ]),
    );
    if ((await opening.take(2))[1] !== 0) throw new Error("credentials");
  } else if (method !== 0) throw new Error("method");
  const at = isIPv6(address)
    ? Buffer.from([4, ...ipv6Bytes(address)])
    : Buffer.from([1, ...address.split(".").map(Number)]);
  socket.write(Buffer.concat([Buffer.from([5, 1, 0]), at, Buffer.from([port >> 8, port & 0xff])]));
  const [, status, , type] = await opening.take(4);
  await opening.take((await addressLength(opening, type)) + PORT_BYTES);
  if (status !== 0) throw new Error(`status ${status}`);
}

const PORT_BYTES = 2;

/** The bytes of the address that follows: IPv4, IPv6, or a name that its own length precedes. */
async function addressLength(opening: Opening, type: number | undefined): Promise<number> {
  if (type === 1) return 4;
  if (type === 4) return 16;
  const [length = 0] = await opening.take(1);
  return length;
}

/** The 16 bytes of an address, which may end in the IPv4 form. */
function ipv6Bytes(address: string): number[] {
  const plain = new URL(`http://[${address.split("%")[0]}]/`).hostname.slice(1, -1);
  const [head = "", tail] = plain.split("::");
  const groups = (text: string): number[] =>
    text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
  const [before, after] = [groups(head), tail === undefined ? [] : groups(tail)];
  const whole = [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
  return whole.flatMap((group) => [group >> 8, group & 0xff]);
}
