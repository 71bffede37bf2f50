/** One connection of a node to its gateway. */
import { dial, Line } from "../line.ts";
import type { FromNode, ToNode } from "../wire.ts";
import { Desk } from "./desk.ts";
import { Outgoing } from "./outgoing.ts";
import type { Shelf } from "./shelf.ts";
import type { HostParts, Target } from "./target.ts";

/** The heartbeat until the gateway names its own. */
const UNTIL_WELCOME_MS = 5000;

export interface Shelves {
  uploads: Shelf;
  outgoing: Shelf;
}

export interface Connection {
  target: Target;
  closed: Promise<{ code: number; reason: string }>;
  close(reason: string): void;
}

/** Ready when the gateway has said welcome. */
export async function connect(
  { ctx, config, onConfig }: HostParts,
  target: Target,
  { uploads, outgoing }: Shelves,
): Promise<Connection> {
  const { url, headers, name } = target;
  const enabled = (): boolean => config().browserProxy.enabled;
  let maxFileBytes = 0;
  let welcomed!: () => void;
  let ended!: (how: { code: number; reason: string }) => void;
  const welcome = new Promise<void>((resolve) => (welcomed = resolve));
  const closed = new Promise<{ code: number; reason: string }>((resolve) => (ended = resolve));
  const { line, desk } = await dial(url, headers, ctx.signal, (socket) => {
    const line: Line = new Line(socket, {
      message(message: ToNode) {
        if (message.t === "welcome") {
          line.watch(message.heartbeatMs);
          maxFileBytes = message.maxFileBytes;
          welcomed();
        } else if (message.t === "request") void ctx.busy(desk.answer(message));
        else if (message.t === "received") void desk.received(message.id);
        else desk.cancel(message.id);
      },
      chunk: (chunk) => desk.chunk(chunk),
      closed(code, reason) {
        desk.ended();
        ended({ code, reason });
      },
    });
    line.watch(UNTIL_WELCOME_MS);
    const desk: Desk = new Desk({
      ctx,
      line,
      enabled,
      maxFileBytes: () => maxFileBytes,
      uploads,
      outgoing: new Outgoing(outgoing, ctx.log),
      gatewayAddress: line.remoteAddress,
    });
    return { line, desk };
  });
  const unlisten = onConfig(() => {
    if (line.open) void desk.hello().then((hello) => line.send(hello));
  });
  const stop = (): void => line.close(1001, `node ${name} stops`);
  ctx.signal.addEventListener("abort", stop, { once: true });
  const quiet = ctx.on("browser:navigated", ({ context }) => {
    if (enabled()) void line.send({ t: "navigated", ...context } satisfies FromNode);
  });
  void closed.then(() => {
    ctx.signal.removeEventListener("abort", stop);
    unlisten();
    return quiet();
  });
  await Promise.race([welcome, closed.then(({ code }) => Promise.reject(new Error(`closed at once (${code})`)))]);
  await line.send(await desk.hello());
  return { target, closed, close: (reason) => line.close(1000, reason) };
}
