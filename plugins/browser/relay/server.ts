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
  /** The directory of the extension. */
  extensionDir: string;
  version: string;
  log: Logger;
}

const bearer = (req: IncomingMessage): string | undefined =>
  bearerOf(req.headers.authorization ?? "");

export function openRelay(options: RelayOptions): RelayControl {
  const { server, log } = options;
  const relay = new Relay(log);
  const url = `http://127.0.0.1:${server.port}`;
  const token = (): string => pairingToken(options.secret(), server.port);
  const checks = createChecks(options, token);
  mountExtension(options, relay, checks);
  mountDevtools(options, relay, checks);
  mountPairing(options, relay, token);
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

/** Who may connect to the relay. */
interface Checks {
  /** The extension: that very one, with the token of this relay. */
  extension(req: IncomingMessage, given: string | undefined): void;
  /**
   * A DevTools client: a program of the owner's, never a page and never the extension. Some can say the token in the
   * address only, and addresses are logged: the gateway's own secret is therefore not taken.
   */
  client(req: IncomingMessage): void;
}

function createChecks({ enabled }: RelayOptions, token: () => string): Checks {
  const checkSecret = createTokenCheck({
    accepts: (given) => secretOf(token()).equals(given),
    refusal: errors.relayTokenWrong,
    challenge: 'Bearer realm="portico-relay"',
  });
  function checkToken(req: IncomingMessage, given: string | undefined): void {
    if (!enabled()) throw errors.browserDisabled();
    checkSecret(req, given);
  }
  return {
    extension(req, given) {
      if (req.headers.origin !== EXTENSION_ORIGIN) throw errors.extensionOnly();
      checkToken(req, given);
    },
    client(req) {
      if (req.headers.origin !== undefined) throw errors.noPages();
      checkToken(req, tokenOf(req));
    },
  };
}

/** What the extension connects to: its check of the pairing, and its two sockets. */
function mountExtension({ server, version }: RelayOptions, relay: Relay, checks: Checks): void {
  server.route("POST", "/extension/check", extensionRoutes.check, async (call: Call) => {
    checks.extension(call.req, bearer(call.req));
    const { instance } = await call.json<{ instance: string }>();
    relay.checkExtension(instance);
    return { ok: true, version };
  });
  /** A socket of the extension's. It can say its token and instance in subprotocols that it offers, and nowhere else. */
  function acceptExtension(
    path: string,
    take: (socket: WebSocket, instance: string) => void,
  ): void {
    server.upgrade(path, { access: "own" }, (req, socket, head) => {
      checks.extension(req, offered(req, "token."));
      const instance = offered(req, "instance.") ?? "";
      relay.checkExtension(instance);
      const accepting = { maxMessageBytes: MAX_MESSAGE_BYTES, protocol: PROTOCOL };
      return acceptSocket(req, socket, head, accepting, (accepted) => take(accepted, instance));
    });
  }
  acceptExtension("/extension", (socket, instance) => relay.takeExtension(socket, instance));
  acceptExtension("/extension/presence", (socket) => relay.takePresence(socket));
}

/** What follows a prefix in the subprotocols that a socket offers. */
function offered({ headers }: IncomingMessage, prefix: string): string | undefined {
  const protocols = (headers["sec-websocket-protocol"] ?? "").split(",").map((one) => one.trim());
  return protocols.find((one) => one.startsWith(prefix))?.slice(prefix.length);
}

/** What a DevTools client connects to: the lists, and the socket that they name. */
function mountDevtools({ server, version }: RelayOptions, relay: Relay, checks: Checks): void {
  const webSocketDebuggerUrl = `ws://127.0.0.1:${server.port}/cdp`;
  server.route("GET", "/json/version", devtoolsRoutes.version, (call: Call) => {
    checks.client(call.req);
    const about = { Browser: `Portico-relay/${version}`, "Protocol-Version": "1.3" };
    if (relay.present().length > 0) return { ...about, webSocketDebuggerUrl };
    const { code, message } = errors.nothingAttached();
    return { ...about, error: { code, message } };
  });
  const list = (call: Call): object => {
    checks.client(call.req);
    if (relay.present().length === 0) throw errors.nothingAttached();
    return relay.present().map(({ targetId, title, url }) => ({
      id: targetId,
      type: "page",
      title,
      url,
      webSocketDebuggerUrl,
    }));
  };
  server.route("GET", "/json/list", devtoolsRoutes.targets, list);
  server.route("GET", "/json", devtoolsRoutes.targets, list);
  server.upgrade("/cdp", { access: "own" }, (req, socket, head) => {
    checks.client(req);
    const giveBack = relay.reserveClient();
    const limits = { maxMessageBytes: MAX_MESSAGE_BYTES };
    const accepting = acceptSocket(req, socket, head, limits, (accepted) => {
      void relay.takeClient(accepted);
    });
    return accepting.catch((error: unknown) => {
      giveBack();
      throw error;
    });
  });
}

/** What tells the owner, on the control server, how to pair the extension. */
function mountPairing(options: RelayOptions, relay: Relay, token: () => string): void {
  const { control, server, extensionDir } = options;
  control.route("GET", "/extension", extensionRoutes.show, () => ({
    id: EXTENSION_ID,
    path: extensionDir,
    port: server.port,
    connected: relay.connected,
    tabs: relay
      .present()
      .map(({ targetId, title, url }) => ({ targetId, title, url, type: "page" })),
  }));
  control.route("GET", "/extension/pair", extensionRoutes.pair, () => ({
    port: server.port,
    token: token(),
  }));
}
