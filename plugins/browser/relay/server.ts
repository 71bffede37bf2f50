/**
 * The relay's server on `gateway.port` + 3: the extension comes in at `/extension`, one DevTools client at `/cdp`.
 * It listens from the start; what is heavy is loaded when the first of them comes.
 */
import type { IncomingMessage } from "node:http";
import { bearerOf, type Call, type Logger, type Mount, secretOf, type ServerHandle } from "portico";
import { errors } from "../errors.ts";
import { createTokenCheck, tokenOf } from "../net/token-check.ts";
import { acceptSocket, type WebSocket } from "../net/web-socket.ts";
import { MAX_MESSAGE_BYTES } from "../drivers/cdp.ts";
import { EXTENSION_ID, EXTENSION_ORIGIN, PROTOCOL, pairingToken } from "./pairing.ts";
import { Relay } from "./relay.ts";
import type { RelayControl } from "../relay-control.ts";
import { devtoolsRoutes } from "../drivers/debugging/routes-schema.ts";
import { extensionRoutes } from "./routes-schema.ts";

interface RelayOptions {
  server: ServerHandle;
  /** The control server: it tells its owner how to pair. */
  control: Mount;
  /** The gateway's token, or its password. */
  secret(): string;
  enabled(): boolean;
  /** Where the extension lies. */
  extensionDir: string;
  version: string;
  log: Logger;
}

const bearer = (req: IncomingMessage): string | undefined =>
  bearerOf(req.headers.authorization ?? "");

export function openRelay(options: RelayOptions): RelayControl {
  const { server, control, log } = options;
  const relay = new Relay(log);
  const url = `http://127.0.0.1:${server.port}`;
  const token = (): string => pairingToken(options.secret(), server.port);

  const checkSecret = createTokenCheck({
    accepts: (given) => secretOf(token()).equals(given),
    refusal: errors.relayTokenWrong,
    challenge: 'Bearer realm="portico-relay"',
  });

  function checkToken(req: IncomingMessage, given: string | undefined): void {
    if (!options.enabled()) throw errors.browserDisabled();
    checkSecret(req, given);
  }

  /** The extension: that very one, with the token of this relay. */
  function checkExtension(req: IncomingMessage, given: string | undefined): void {
    if (req.headers.origin !== EXTENSION_ORIGIN) throw errors.extensionOnly();
    checkToken(req, given);
  }

  /**
   * A DevTools client: a program of the owner's, never a page and never the extension. Some can say the token in the
   * address only, and addresses are logged: the gateway's own secret is therefore not taken.
   */
  function checkClient(req: IncomingMessage): void {
    if (req.headers.origin !== undefined) throw errors.noPages();
    checkToken(req, tokenOf(req));
  }

  const socketUrl = (): string => `ws://127.0.0.1:${server.port}/cdp`;

  server.route("POST", "/extension/check", extensionRoutes.check, async (call: Call) => {
    checkExtension(call.req, bearer(call.req));
    const { instance } = await call.json<{ instance: string }>();
    relay.checkExtension(instance);
    return { ok: true, version: options.version };
  });
  /** A socket of the extension's. It can say its token and instance in subprotocols that it offers, and nowhere else. */
  function acceptExtension(
    path: string,
    take: (socket: WebSocket, instance: string) => void,
  ): void {
    server.upgrade(path, { access: "own" }, (req, socket, head) => {
      const offered = (req.headers["sec-websocket-protocol"] ?? "")
        .split(",")
        .map((one) => one.trim());
      const named = (prefix: string): string | undefined =>
        offered.find((one) => one.startsWith(prefix))?.slice(prefix.length);
      checkExtension(req, named("token."));
      const instance = named("instance.") ?? "";
      relay.checkExtension(instance);
      const accepting = { maxMessageBytes: MAX_MESSAGE_BYTES, protocol: PROTOCOL };
      return acceptSocket(req, socket, head, accepting, (accepted) => take(accepted, instance));
    });
  }
  acceptExtension("/extension", (socket, instance) => relay.takeExtension(socket, instance));
  acceptExtension("/extension/presence", (socket) => relay.takePresence(socket));

  server.route("GET", "/json/version", devtoolsRoutes.version, (call: Call) => {
    checkClient(call.req);
    const about = { Browser: `Portico-relay/${options.version}`, "Protocol-Version": "1.3" };
    if (relay.present().length > 0) return { ...about, webSocketDebuggerUrl: socketUrl() };
    return {
      ...about,
      error: { code: "browser_not_running", message: errors.nothingAttached().message },
    };
  });
  const list = (call: Call): object => {
    checkClient(call.req);
    if (relay.present().length === 0) throw errors.nothingAttached();
    return relay.present().map(({ targetId, title, url: page }) => ({
      id: targetId,
      type: "page",
      title,
      url: page,
      webSocketDebuggerUrl: socketUrl(),
    }));
  };
  server.route("GET", "/json/list", devtoolsRoutes.targets, list);
  server.route("GET", "/json", devtoolsRoutes.targets, list);
  server.upgrade("/cdp", { access: "own" }, (req, socket, head) => {
    checkClient(req);
    const giveBack = relay.reserveClient();
    const taken = acceptSocket(
      req,
      socket,
      head,
      { maxMessageBytes: MAX_MESSAGE_BYTES },
      (accepted) => {
        void relay.takeClient(accepted);
      },
    );
    return taken.catch((error: unknown) => {
      giveBack();
      throw error;
    });
  });

  control.route("GET", "/extension", extensionRoutes.show, () => ({
    id: EXTENSION_ID,
    path: options.extensionDir,
    port: server.port,
    connected: relay.connected,
    tabs: relay
      .present()
      .map(({ targetId, title, url: page }) => ({ targetId, title, url: page, type: "page" })),
  }));
  control.route("GET", "/extension/pair", extensionRoutes.pair, () => ({
    port: server.port,
    token: token(),
  }));

  return {
    url,
    port: server.port,
    get connected() {
      return relay.connected;
    },
    get clicks() {
      return relay.clicks;
    },
    headers: () => ({ authorization: `Bearer ${token()}` }),
    tabs: () => relay.present(),
    get isAway() {
      return relay.isAway;
    },
    settled: () => relay.settled(),
    async ready() {
      await relay.settled();
      await relay.idle();
      if (relay.present().length === 0) throw errors.nothingAttached();
    },
    checkFree() {
      if (relay.hasClient) throw errors.otherClientBusy();
    },
    end: (reason) => relay.end(reason),
  };
}
