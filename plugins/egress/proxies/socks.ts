/** The handshake of a SOCKS5 connection (RFC 1928), on the server's side. */
import type { Socket } from "node:net";

const VERSION = 5;
const NO_CREDENTIALS = 0;
const NO_METHOD = 0xff;
const CONNECT = 1;
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;
export const REPLY = {
  connected: 0,
  failed: 1,
  forbidden: 2,
  unreachable: 4,
  refused: 5,
  noCommand: 7,
  noAddress: 8,
} as const;

/** Encodes the reply to a request. The address in it has no meaning for an outgoing connection. */
export const encodeReply = (code: number): Buffer =>
  Buffer.from([VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0]);

/** The destination that a client requests. */
export interface Target {
  host: string;
  port: number;
}

/** The client violates the protocol. `code` is the reply that it receives. */
export class ProtocolError extends Error {
  constructor(readonly code?: number) {
    super("not SOCKS5");
  }
}

/** Reads the bytes that the other side sends during the handshake. */
export class HandshakeReader {
  readonly #client: Socket;
  #buffer: Buffer = Buffer.alloc(0);
  #isEnded = false;
  #wake = (): void => {};

  constructor(client: Socket) {
    this.#client = client.on("data", this.#receive).once("end", this.#end).once("close", this.#end);
  }

  readonly #receive = (chunk: Buffer): void => {
    this.#buffer = Buffer.concat([this.#buffer, chunk]);
    this.#wake();
  };

  readonly #end = (): void => {
    this.#isEnded = true;
    this.#wake();
  };

  /** Takes the next `count` bytes. Rejects with `ProtocolError` if the connection ends before. */
  async take(count: number): Promise<Buffer> {
    while (this.#buffer.length < count) {
      if (this.#isEnded) throw new ProtocolError();
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const bytes = this.#buffer.subarray(0, count);
    this.#buffer = this.#buffer.subarray(count);
    return bytes;
  }

  /**
   * Takes the bytes up to and including the delimiter. Rejects with `ProtocolError` if more than `maxBytes` arrive without
   * it.
   */
  async takeUntil(delimiter: string, maxBytes: number): Promise<Buffer> {
    for (;;) {
      const at = this.#buffer.indexOf(delimiter);
      if (at >= 0) return this.take(at + delimiter.length);
      if (this.#isEnded || this.#buffer.length > maxBytes) throw new ProtocolError();
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Stops reading, and returns the remaining bytes to the socket. */
  end(): void {
    this.#client.off("data", this.#receive).pause();
    if (this.#buffer.length > 0) this.#client.unshift(this.#buffer);
  }
}

/** Greets a client and reads its request. Rejects with `ProtocolError` if the request is invalid. */
export async function handshake(client: Socket): Promise<Target> {
  const reader = new HandshakeReader(client);
  try {
    return await readTarget(client, reader);
  } finally {
    reader.end();
  }
}

async function readTarget(client: Socket, reader: HandshakeReader): Promise<Target> {
  const [version, count = 0] = await reader.take(2);
  if (version !== VERSION) throw new ProtocolError();
  const methods = await reader.take(count);
  const allowsNoCredentials = methods.includes(NO_CREDENTIALS);
  client.write(Buffer.from([VERSION, allowsNoCredentials ? NO_CREDENTIALS : NO_METHOD]));
  if (!allowsNoCredentials) throw new ProtocolError();
  const [requestVersion, command, , type] = await reader.take(4);
  if (requestVersion !== VERSION) throw new ProtocolError();
  if (command !== CONNECT) throw new ProtocolError(REPLY.noCommand);
  const host = await readHost(reader, type);
  const port = (await reader.take(2)).readUInt16BE();
  return { host, port };
}

async function readHost(reader: HandshakeReader, type: number | undefined): Promise<string> {
  if (type === IPV4) return (await reader.take(4)).join(".");
  if (type === IPV6) return (await reader.take(16)).toString("hex").replace(/.{4}(?!$)/g, "$&:");
  if (type !== NAME) throw new ProtocolError(REPLY.noAddress);
  const [length = 0] = await reader.take(1);
  return (await reader.take(length)).toString("latin1");
}
