/**
 * The debugging port of a browser that was started here. The browser itself listens nowhere: this server asks for the
 * gateway's token, the gateway's rules for Host and Origin hold, and each client is bridged to the browser's pipe.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type Call, type PluginContext, secretOf } from "portico";
import { errors } from "../../errors.ts";
import { createTokenCheck, tokenOf } from "../../net/token-check.ts";
import { acceptSocket, closeSocket, readMessages, type WebSocket } from "../../net/web-socket.ts";
import { devtoolsRoutes } from "./routes-schema.ts";
import { MAX_MESSAGE_BYTES } from "../cdp.ts";
import type { Multiplexer } from "./multiplexer.ts";
import type { Transport } from "../playwright.ts";

export interface DebuggingServer {
  readonly port: number;
  /** From now on clients reach this browser. */
  serve(clients: Multiplexer): void;
  close(): Promise<void>;
}

/** Opens the server of one browser. Rejects with `port_in_use`. */
export type OpenDebuggingServer = (port: number) => Promise<DebuggingServer>;

/** What a client may send at once, bytes. */
const MAX_REQUEST_BYTES = 32 << 20;

interface TargetInfo {
  targetId: string;
  type: string;
  title: string;
  url: string;
}

interface DebuggingServers {
  open: OpenDebuggingServer;
  /** Ends the clients that came in by a secret which no longer holds. */
  recheck(): void;
}

/** `secrets`: the gateway's token and password; either will do. */
export function createDebuggingServers(
  ctx: Pick<PluginContext, "server" | "log">,
  secrets: () => readonly (string | undefined)[],
): DebuggingServers {
  /** What each client has shown. */
  const shown = new Map<WebSocket, string | undefined>();
  const accepts = (given: string): boolean =>
    secrets().some(
      (secret) => secret !== undefined && secret !== "" && secretOf(secret).equals(given),
    );
  const checkToken = createTokenCheck({
    accepts,
    refusal: errors.debuggingTokenWrong,
    challenge: 'Bearer realm="portico-debugging", Basic realm="portico-debugging", charset="UTF-8"',
  });

  async function open(port: number): Promise<DebuggingServer> {
    const server = await ctx.server({ name: `debugging ${port}`, port });
    const sockets = new Set<WebSocket>();
    const id = randomUUID();
    const address = `ws://127.0.0.1:${server.port}`;
    let served: Multiplexer | undefined;

    function clientsFor(req: IncomingMessage): Multiplexer {
      checkToken(req, tokenOf(req));
      if (served !== undefined) return served;
      throw errors.stillStarting();
    }

    server.route("GET", "/json/version", devtoolsRoutes.version, async ({ req }: Call) => {
      const about = await clientsFor(req).command("Browser.getVersion");
      return {
        Browser: about["product"],
        "Protocol-Version": about["protocolVersion"],
        "User-Agent": about["userAgent"],
        "V8-Version": about["jsVersion"],
        webSocketDebuggerUrl: `${address}/devtools/browser/${id}`,
      };
    });
    const list = async ({ req }: Call): Promise<object[]> => {
      const { targetInfos } = (await clientsFor(req).command("Target.getTargets")) as {
        targetInfos: TargetInfo[];
      };
      return targetInfos.map(({ targetId, type, title, url }) => ({
        id: targetId,
        type,
        title,
        url,
        description: "",
        webSocketDebuggerUrl: `${address}/devtools/page/${targetId}`,
      }));
    };
    for (const path of ["/json/list", "/json"])
      server.route("GET", path, devtoolsRoutes.targets, list);

    async function bridge(
      req: IncomingMessage,
      socket: Duplex,
      head: Buffer,
      client: Transport,
    ): Promise<void> {
      const connected = acceptSocket(
        req,
        socket,
        head,
        { maxMessageBytes: MAX_REQUEST_BYTES },
        (ws) => {
          sockets.add(ws);
          shown.set(ws, tokenOf(req));
          ws.once("close", () => {
            sockets.delete(ws);
            shown.delete(ws);
          });
          connect(ws, client);
        },
      );
      await connected.catch((error: unknown) => {
        client.close();
        throw error;
      });
    }
    const lastStep = (req: IncomingMessage): string =>
      new URL(req.url ?? "/", address).pathname.split("/")[3] ?? "";
    server.upgrade("/devtools/browser/:id", { access: "own" }, async (req, socket, head) => {
      const clients = clientsFor(req);
      if (lastStep(req) !== id) throw errors.otherBrowser();
      await bridge(req, socket, head, await clients.browser());
    });
    server.upgrade("/devtools/page/:targetId", { access: "own" }, async (req, socket, head) => {
      const client = await clientsFor(req)
        .target(lastStep(req))
        .catch((cause: unknown) => {
          throw errors.unknownTarget({ cause });
        });
      await bridge(req, socket, head, client);
    });

    return {
      port: server.port,
      serve(clients) {
        served = clients;
      },
      async close() {
        served = undefined;
        for (const socket of sockets) closeSocket(socket, 1001, "The browser is stopped.");
        await server.close();
      },
    };
  }

  return {
    open,
    recheck() {
      for (const [socket, given] of shown)
        if (given === undefined || !accepts(given))
          closeSocket(socket, 1008, "The credentials no longer hold.");
    },
  };
}

/** A client that does not read what it asked for is cut off before its messages fill the memory. */
function connect(socket: WebSocket, client: Transport): void {
  client.onmessage = (message) => {
    if (socket.bufferedAmount > MAX_MESSAGE_BYTES) socket.terminate();
    else socket.send(JSON.stringify(message), () => {});
  };
  client.onclose = () => closeSocket(socket, 1001, "The target is gone.");
  readMessages(socket, { json: (message) => client.send(message as object) });
  socket.once("close", () => client.close());
}
