/** One connection of a node to its gateway. */
import { dial, NodeSocket } from "../node-socket.ts";
import { checkToNode, type FromNode, type ToNode } from "../wire.ts";
import { RequestHandler } from "./request-handler.ts";
import { Outgoing } from "./outgoing.ts";
import type { TransferDirectory } from "./transfer-directory.ts";
import type { HostContext, Target } from "./gateway-address.ts";

/** The heartbeat interval until the gateway's welcome sets another one. */
const UNTIL_WELCOME_MS = 5000;

interface TransferDirectories {
  uploads: TransferDirectory;
  outgoing: TransferDirectory;
}

export interface Connection {
  target: Target;
  closed: Promise<{ code: number; reason: string }>;
  close(reason: string): void;
}

/** Connects to a gateway. Resolves when the gateway's welcome has arrived. */
export async function connect(
  { ctx, config, onConfig }: HostContext,
  target: Target,
  { uploads, outgoing }: TransferDirectories,
): Promise<Connection> {
  const { url, headers, name } = target;
  const enabled = (): boolean => config().browserProxy.enabled;
  let maxFileBytes = 0;
  let resolveWelcome!: () => void;
  let resolveClosed!: (how: { code: number; reason: string }) => void;
  const welcome = new Promise<void>((resolve) => {
    resolveWelcome = resolve;
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    resolveClosed = resolve;
  });
  const { nodeSocket, handler } = await dial(url, headers, ctx.signal, (socket) => {
    const nodeSocket: NodeSocket<ToNode> = new NodeSocket(socket, {
      parse: checkToNode.parse,
      message(message) {
        if (message.t === "welcome") {
          nodeSocket.watch(message.heartbeatMs);
          maxFileBytes = message.maxFileBytes;
          resolveWelcome();
        } else if (message.t === "request") void ctx.busy(handler.answer(message));
        else if (message.t === "received") void handler.confirmReceived(message.id);
        else handler.cancel(message.id);
      },
      chunk: (chunk) => handler.chunk(chunk),
      closed(code, reason) {
        handler.connectionEnded();
        resolveClosed({ code, reason });
      },
    });
    nodeSocket.watch(UNTIL_WELCOME_MS);
    const handler: RequestHandler = new RequestHandler({
      ctx,
      nodeSocket,
      enabled,
      maxFileBytes: () => maxFileBytes,
      uploads,
      outgoing: new Outgoing(outgoing, ctx.log),
      gatewayAddress: nodeSocket.remoteAddress,
    });
    return { nodeSocket, handler };
  });
  const unlisten = onConfig(() => {
    if (nodeSocket.open) void handler.hello().then((hello) => nodeSocket.send(hello));
  });
  const stop = (): void => nodeSocket.close(1001, `node ${name} stops`);
  ctx.signal.addEventListener("abort", stop, { once: true });
  if (ctx.signal.aborted) stop();
  const stopForwarding = ctx.on("browser:navigated", ({ context }) => {
    if (enabled()) void nodeSocket.send({ t: "navigated", ...context } satisfies FromNode);
  });
  void closed.then(() => {
    ctx.signal.removeEventListener("abort", stop);
    unlisten();
    return stopForwarding();
  });
  await Promise.race([
    welcome,
    closed.then(({ code, reason }) =>
      Promise.reject(new Error(`the gateway closed the connection immediately: ${reason || code}`)),
    ),
  ]);
  await nodeSocket.send(await handler.hello());
  return { target, closed, close: (reason) => nodeSocket.close(1000, reason) };
}
