/** The relay's server on `gateway.port` + 3. The extension connects to `/extension`, one DevTools client to `/cdp`. */
import type { IncomingMessage } from "node:http";
import { bearerOf, type Call, type Logger, type Mount, secretOf, type ServerHandle } from "portico";
import { errors } from "../errors.ts";
import { createTokenCheck, tokenOf } from "../net/token-check.ts";
import { acceptSocket, type WebSocket } from "../net/web-socket.ts";
import { MAX_MESSAGE_BYTES } from "../drivers/cdp.ts";
import { EXTENSION_ID, EXTENSION_ORIGIN, PROTOCOL, derivePairingToken } from "./pairing.ts";
import { Relay } from "./relay.ts";
import type { RelayControl } from "../relay-control.ts";
import { devtoolsRoutes } from "../drivers/debugging/routes-schema.ts";
import { extensionRoutes } from "./routes-schema.ts";

interface RelayOptions {
  server: ServerHandle;
  /** The control server, which shows the owner how to pair the extension. */
  control: Mount;
  /** Returns the gateway's token, or its password. */
  secret(): string;
  enabled(): boolean;
  /** The directory of the extension. */
  extensionDir: string;
  version: string;
  log: Logger;
}

const bearerTokenOf = (req: IncomingMessage): string | undefined =>
  bearerOf(req.headers.authorization ?? "");

export function openRelay(options: RelayOptions): RelayControl {
  const { server, log } = options;
  const relay = new Relay(log);
  const url = `http://127.0.0.1:${server.port}`;
  const token = (): string => derivePairingToken(options.secret(), server.port);
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
    get attachCount() {
      return relay.attachCount;
    },
    headers: () => ({ authorization: `Bearer ${token()}` }),
    tabs: () => relay.availableTabs(),
    get isAway() {
      return relay.isAway;
    },
    waitWhileAway: () => relay.waitWhileAway(),
    async ready() {
      await relay.waitWhileAway();
      await relay.waitUntilClean();
      if (relay.availableTabs().length === 0) throw errors.nothingAttached();
    },
    checkFree() {
      if (relay.hasClient) throw errors.otherClientBusy();
    },
    end: (reason) => relay.end(reason),
  };
}

/** The access checks of the relay's connections. They throw if a request is refused. */
interface Checks {
  /** Accepts only our extension, with the token of this relay. */
  extension(req: IncomingMessage, token: string | undefined): void;
  /**
   * Accepts a DevTools client: a program of the owner, never a page and never the extension. Some clients can pass the
   * token only in the address, and addresses are logged, so the gateway's own secret is not accepted.
   */
  client(req: IncomingMessage): void;
}

function createChecks({ enabled }: RelayOptions, token: () => string): Checks {
  const checkSecret = createTokenCheck({
    accepts: (candidate) => secretOf(token()).equals(candidate),
    refusal: errors.relayTokenWrong,
    challenge: 'Bearer realm="portico-relay"',
  });
  function checkToken(req: IncomingMessage, candidate: string | undefined): void {
    if (!enabled()) throw errors.browserDisabled();
    checkSecret(req, candidate);
  }
  return {
    extension(req, candidate) {
      if (req.headers.origin !== EXTENSION_ORIGIN) throw errors.extensionOnly();
      checkToken(req, candidate);
    },
    client(req) {
      if (req.headers.origin !== undefined) throw errors.noPages();
      checkToken(req, tokenOf(req));
    },
  };
}

/** Mounts the extension's routes: the check of the pairing, and its two sockets. */
function mountExtension({ server, version }: RelayOptions, relay: Relay, checks: Checks): void {
  server.route("POST", "/extension/check", extensionRoutes.check, async (call: Call) => {
    checks.extension(call.req, bearerTokenOf(call.req));
    const { instance } = await call.json<{ instance: string }>();
    relay.checkExtension(instance);
    return { ok: true, version };
  });
  /** Mounts one socket. The extension can pass its token and instance only as subprotocols. */
  function acceptExtension(
    path: string,
    onAccept: (socket: WebSocket, instance: string) => void,
  ): void {
    server.upgrade(path, { access: "own" }, (req, socket, head) => {
      checks.extension(req, offeredProtocol(req, "token."));
      const instance = offeredProtocol(req, "instance.") ?? "";
      relay.checkExtension(instance);
      const acceptOptions = { maxMessageBytes: MAX_MESSAGE_BYTES, protocol: PROTOCOL };
      return acceptSocket(req, socket, head, acceptOptions, (accepted) =>
        onAccept(accepted, instance),
      );
    });
  }
  acceptExtension("/extension", (socket, instance) => relay.adoptExtension(socket, instance));
  acceptExtension("/extension/presence", (socket) => relay.adoptPresence(socket));
}

/** Returns the rest of the offered subprotocol that begins with a prefix. */
function offeredProtocol({ headers }: IncomingMessage, prefix: string): string | undefined {
  const protocols = (headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
  return protocols.find((name) => name.startsWith(prefix))?.slice(prefix.length);
}

/** Mounts the routes of DevTools clients: the lists of targets, and the socket that they name. */
function mountDevtools({ server, version }: RelayOptions, relay: Relay, checks: Checks): void {
  const webSocketDebuggerUrl = `ws://127.0.0.1:${server.port}/cdp`;
  server.route("GET", "/json/version", devtoolsRoutes.version, (call: Call) => {
    checks.client(call.req);
    const about = { Browser: `Portico-relay/${version}`, "Protocol-Version": "1.3" };
    if (relay.availableTabs().length > 0) return { ...about, webSocketDebuggerUrl };
    const { code, message } = errors.nothingAttached();
    return { ...about, error: { code, message } };
  });
  const list = (call: Call): object => {
    checks.client(call.req);
    if (relay.availableTabs().length === 0) throw errors.nothingAttached();
    return relay.availableTabs().map(({ targetId, title, url }) => ({
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
    const release = relay.reserveClient();
    const limits = { maxMessageBytes: MAX_MESSAGE_BYTES };
    const accepting = acceptSocket(req, socket, head, limits, (accepted) => {
      void relay.adoptClient(accepted);
    });
    return accepting.catch((error: unknown) => {
      release();
      throw error;
    });
  });
}

/** Mounts the routes of the control server that show the owner how to pair the extension. */
function mountPairing(options: RelayOptions, relay: Relay, token: () => string): void {
  const { control, server, extensionDir } = options;
  control.route("GET", "/extension", extensionRoutes.show, () => ({
    id: EXTENSION_ID,
    path: extensionDir,
    port: server.port,
    connected: relay.connected,
    tabs: relay
      .availableTabs()
      .map(({ targetId, title, url }) => ({ targetId, title, url, type: "page" })),
  }));
  control.route("GET", "/extension/pair", extensionRoutes.pair, () => ({
    port: server.port,
    token: token(),
  }));
}
