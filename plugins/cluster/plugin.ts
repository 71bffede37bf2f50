/** Exchanges messages between the workers of a gateway, and between gateways that share a store. */
import { definePlugin } from "portico";
import type { Message, Way } from "./messages.ts";
import { nameSchema } from "./schema.ts";

export default definePlugin({
  name: "cluster",
  description:
    "Passes events between the workers of a gateway, and between gateways that share a store",
  config: { "gateway.name": nameSchema },
  commands: { gateways: () => import("./cli.ts") },
  needs: ["store"],
  contributions: {
    signal: { fields: { name: "string", take: "function" } },
    feed: { fields: { name: "string", begin: "function" } },
    feedWatcher: { fields: { name: "string", take: "function" } },
  },
  async setup(ctx, config) {
    const { Board, Feeds, listGateway } = await import("./parts.ts");
    const { id: gateway, attempts } = ctx.use("gateway");
    const workers = ctx.find("workers");
    const store = () => ctx.use("store");

    function hear(message: Message, way: Way): void {
      feeds.receive(message, way);
      if (message.kind !== "signal") return;
      for (const signal of ctx.list("signal"))
        if (signal.name === message.name) signal.take(message.data as never);
    }
    function post(message: Message, way: Way): void {
      if (way === "workers") workers?.tell("cluster", message);
      else board?.put(message);
    }
    const feeds = new Feeds({
      feeds: () => ctx.list("feed"),
      watchers: () => ctx.list("feedWatcher"),
      post,
      wants: ctx.keep("wants", () => new Map<string, number>()),
    });
    ctx.watch("feed", () => feeds.update());
    ctx.watch("feedWatcher", () => feeds.announce());
    const stopHearing = workers?.on("cluster", (message: Message) => hear(message, "workers"));
    // A clean-up may have to wait for a task. This runs at once, so that only the next version receives and sends.
    const stop = () => {
      void stopHearing?.();
      feeds.close();
    };
    ctx.signal.addEventListener("abort", stop, { once: true });

    const board =
      store().sharedBy === "gateways"
        ? new Board({
            store,
            gateway,
            receive: (message) => hear(message, "gateways"),
            log: ctx.log,
            progress: ctx.keep("progress of the board", Board.newProgress),
          })
        : undefined;
    if (board) {
      ctx.task(
        "receive messages of other gateways",
        { everyMs: Board.lookMs, immediately: true },
        (signal) => board.look(signal),
      );
      ctx.defer(() => board.close());
    }
    feeds.resume();

    ctx.provide("cluster", {
      tell(name, data) {
        for (const way of ["workers", "gateways"] as const)
          post({ kind: "signal", name, data }, way);
      },
    });
    listGateway(ctx, config["gateway.name"]);

    // This looks the service up at each call, because the function outlives a reload of the plugin.
    attempts.share((address) => ctx.find("cluster")?.tell("failed attempt", address));
    ctx.add("signal", { name: "failed attempt", take: attempts.note });
  },
});
