/** The beginning of a SOCKS5 connection (RFC 1928), as the server has it. */
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

/** The response to a request; the address in it means nothing for a connection out. */
export const reply = (code: number): Buffer =>
  Buffer.from([VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0]);

/** Where a client wants to go. */
export interface Target {
  host: string;
  port: number;
}

/** A client that does not keep to the protocol; `code` is the reply that it gets. */
export class ProtocolError extends Error {
  constructor(readonly code?: number) {
    super("not SOCKS5");
  }
}

/** What the other side sends before the connection is there. */
export class Opening {
  readonly #client: Socket;
  #held: Buffer = Buffer.alloc(0);
  #over = false;
  #wake = (): void => {};

  constructor(client: Socket) {
    this.#client = client.on("data", this.#receive).once("end", this.#end).once("close", this.#end);
  }

  readonly #receive = (chunk: Buffer): void => {
    this.#held = Buffer.concat([this.#held, chunk]);
    this.#wake();
  };

  readonly #end = (): void => {
    this.#over = true;
    this.#wake();
  };

  /** The next `count` bytes. */
  async take(count: number): Promise<Buffer> {
    while (this.#held.length < count) {
      if (this.#over) throw new ProtocolError();
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const bytes = this.#held.subarray(0, count);
    this.#held = this.#held.subarray(count);
    return bytes;
  }

  /** What comes before the delimiter, which is taken too. */
  async takeUntil(delimiter: string, most: number): Promise<Buffer> {
    for (;;) {
      const at = this.#held.indexOf(delimiter);
      if (at >= 0) return this.take(at + delimiter.length);
      if (this.#over || this.#held.length > most) throw new ProtocolError();
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Leaves the remaining bytes to the next reader. */
  end(): void {
    this.#client.off("data", this.#receive).pause();
    if (this.#held.length > 0) this.#client.unshift(this.#held);
  }
}

/** Greets a client and reads its request. Rejects with `ProtocolError` where there is none. */
export async function handshake(client: Socket): Promise<Target> {
  const opening = new Opening(client);
  try {
    return await readTarget(client, opening);
  } finally {
    opening.end();
  }
}

async function readTarget(client: Socket, opening: Opening): Promise<Target> {
  const [version, count = 0] = await opening.take(2);
  if (version !== VERSION) throw new ProtocolError();
  const methods = await opening.take(count);
  const isOpen = methods.includes(NO_CREDENTIALS);
  client.write(Buffer.from([VERSION, isOpen ? NO_CREDENTIALS : NO_METHOD]));
  if (!isOpen) throw new ProtocolError();
  const [again, command, , type] = await opening.take(4);
  if (again !== VERSION) throw new ProtocolError();
  if (command !== CONNECT) throw new ProtocolError(REPLY.noCommand);
  const host = await readHost(opening, type);
  const port = (await opening.take(2)).readUInt16BE();
  return { host, port };
}

async function readHost(opening: Opening, type: number | undefined): Promise<string> {
  if (type === IPV4) return (await opening.take(4)).join(".");
  if (type === IPV6) return (await opening.take(16)).toString("hex").replace(/.{4}(?!$)/g, "$&:");
  if (type !== NAME) throw new ProtocolError(REPLY.noAddress);
  const [length = 0] = await opening.take(1);
  return (await opening.take(length)).toString("latin1");
}
