/**
 * The debugging port of a browser that was started here. The browser itself does not listen. This server requires the
 * gateway's token, the gateway's rules for Host and Origin apply, and each client is bridged to the browser's pipe.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type Call, type PluginContext, secretOf, type ServerHandle } from "portico";
import { errors } from "../../errors.ts";
import { createTokenCheck, type TokenCheck, tokenOf } from "../../net/token-check.ts";
import { acceptSocket, closeSocket, readMessages, type WebSocket } from "../../net/web-socket.ts";
import { devtoolsRoutes } from "./routes-schema.ts";
import { MAX_MESSAGE_BYTES } from "../cdp.ts";
import type { Multiplexer } from "./multiplexer.ts";
import type { Transport } from "../playwright.ts";

export interface DebuggingServer {
  readonly port: number;
  /** Lets clients reach this browser from now on. */
  serve(clients: Multiplexer): void;
  close(): Promise<void>;
}

/** Opens the server of one browser. Rejects with `port_in_use`. */
export type OpenDebuggingServer = (port: number) => Promise<DebuggingServer>;

/** The maximum size of a client's message, in bytes. */
const MAX_REQUEST_BYTES = 32 << 20;

interface TargetInfo {
  targetId: string;
  type: string;
  title: string;
  url: string;
}

interface DebuggingServers {
  open: OpenDebuggingServer;
  /** Disconnects the clients whose secret is no longer valid. */
  disconnectRevoked(): void;
}

/** `secrets` returns the gateway's token and password; a client may use either. */
export function createDebuggingServers(
  ctx: Pick<PluginContext, "server" | "log">,
  secrets: () => readonly (string | undefined)[],
): DebuggingServers {
  /** The secret that each client presented. */
  const presentedSecrets: PresentedSecrets = new Map();
  const accepts = (candidate: string): boolean =>
    secrets().some(
      (secret) => secret !== undefined && secret !== "" && secretOf(secret).equals(candidate),
    );
  const checkToken = createTokenCheck({
    accepts,
    refusal: errors.debuggingTokenWrong,
    challenge: 'Bearer realm="portico-debugging", Basic realm="portico-debugging", charset="UTF-8"',
  });
  return {
    async open(port) {
      const server = await ctx.server({ name: `debugging ${port}`, port });
      return new DebuggingPort(server, checkToken, presentedSecrets);
    },
    disconnectRevoked() {
      for (const [socket, presentedSecret] of presentedSecrets)
        if (presentedSecret === undefined || !accepts(presentedSecret))
          closeSocket(socket, 1008, "The credentials are no longer valid.");
    },
  };
}

type PresentedSecrets = Map<WebSocket, string | undefined>;

/** The server of one browser: the lists that a DevTools client requests first, and the sockets that it then opens. */
class DebuggingPort implements DebuggingServer {
  readonly port: number;
  readonly #server: ServerHandle;
  readonly #checkToken: TokenCheck;
  readonly #presentedSecrets: PresentedSecrets;
  readonly #sockets = new Set<WebSocket>();
  /** Identifies the browser in the address of its socket. */
  readonly #id = randomUUID();
  readonly #address: string;
  #clients: Multiplexer | undefined;

  constructor(server: ServerHandle, checkToken: TokenCheck, presentedSecrets: PresentedSecrets) {
    this.#server = server;
    this.#checkToken = checkToken;
    this.#presentedSecrets = presentedSecrets;
    this.port = server.port;
    this.#address = `ws://127.0.0.1:${server.port}`;
    this.#mountLists();
    this.#mountSockets();
  }

  serve(clients: Multiplexer): void {
    this.#clients = clients;
  }

  async close(): Promise<void> {
    this.#clients = undefined;
    for (const socket of this.#sockets) closeSocket(socket, 1001, "The browser is stopped.");
    await this.#server.close();
  }

  #mountLists(): void {
    const { version, targets } = devtoolsRoutes;
    this.#server.route("GET", "/json/version", version, ({ req }: Call) =>
      this.#describeBrowser(req),
    );
    for (const path of ["/json/list", "/json"])
      this.#server.route("GET", path, targets, ({ req }: Call) => this.#listTargets(req));
  }

  #mountSockets(): void {
    const path = "/devtools/browser/:id";
    this.#server.upgrade(path, { access: "own" }, async (req, socket, head) => {
      const clients = this.#clientsFor(req);
      if (this.#idInPath(req) !== this.#id) throw errors.otherBrowser();
      await this.#bridge(req, socket, head, await clients.openBrowser());
    });
    const targetPath = "/devtools/page/:targetId";
    this.#server.upgrade(targetPath, { access: "own" }, async (req, socket, head) => {
      const client = await this.#clientsFor(req)
        .openTarget(this.#idInPath(req))
        .catch((cause: unknown) => {
          throw errors.unknownTarget({ cause });
        });
      await this.#bridge(req, socket, head, client);
    });
  }

  #clientsFor(req: IncomingMessage): Multiplexer {
    this.#checkToken(req, tokenOf(req));
    if (this.#clients !== undefined) return this.#clients;
    throw errors.stillStarting();
  }

  #idInPath(req: IncomingMessage): string {
    return new URL(req.url ?? "/", this.#address).pathname.split("/")[3] ?? "";
  }

  async #describeBrowser(req: IncomingMessage): Promise<object> {
    const version = await this.#clientsFor(req).command("Browser.getVersion");
    return {
      Browser: version["product"],
      "Protocol-Version": version["protocolVersion"],
      "User-Agent": version["userAgent"],
      "V8-Version": version["jsVersion"],
      webSocketDebuggerUrl: `${this.#address}/devtools/browser/${this.#id}`,
    };
  }

  async #listTargets(req: IncomingMessage): Promise<object[]> {
    const { targetInfos } = (await this.#clientsFor(req).command("Target.getTargets")) as {
      targetInfos: TargetInfo[];
    };
    return targetInfos.map(({ targetId, type, title, url }) => ({
      id: targetId,
      type,
      title,
      url,
      description: "",
      webSocketDebuggerUrl: `${this.#address}/devtools/page/${targetId}`,
    }));
  }

  /** Connects a client's socket with the browser or target that it requested. */
  async #bridge(
    req: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    client: Transport,
  ): Promise<void> {
    const limits = { maxMessageBytes: MAX_REQUEST_BYTES };
    const accepting = acceptSocket(req, socket, head, limits, (ws) => {
      this.#sockets.add(ws);
      this.#presentedSecrets.set(ws, tokenOf(req));
      ws.once("close", () => {
        this.#sockets.delete(ws);
        this.#presentedSecrets.delete(ws);
      });
      connect(ws, client);
    });
    await accepting.catch((error: unknown) => {
      client.close();
      throw error;
    });
  }
}

/** Connects a socket with a client. A peer that does not read is disconnected before its messages fill the memory. */
function connect(socket: WebSocket, client: Transport): void {
  client.onmessage = (message) => {
    if (socket.bufferedAmount > MAX_MESSAGE_BYTES) socket.terminate();
    else socket.send(JSON.stringify(message), () => {});
  };
  client.onclose = () => closeSocket(socket, 1001, "The target is gone.");
  readMessages(socket, { json: (message) => client.send(message as object) });
  socket.once("close", () => client.close());
}
