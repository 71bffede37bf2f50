/** Makes the workers of a gateway, and the gateways that share a store, hear of each other. */
import { randomUUID } from "node:crypto";
import { definePlugin } from "portico";
import type { Message, Way } from "./messages.ts";

export default definePlugin({
  name: "cluster",
  description: "Lets the workers of a gateway, and gateways that share a store, hear of each other",
  needs: ["store"],
  contributions: {
    signal: { fields: { name: "string", take: "function" } },
    feed: { fields: { name: "string", begin: "function" } },
  },
  async setup(ctx) {
    const { Feeds } = await import("./feeds.ts");
    const workers = ctx.find("workers");
    const store = () => ctx.use("store");

    function hear(message: Message, way: Way): void {
      feeds.hear(message, way);
      if (message.kind !== "signal") return;
      for (const signal of ctx.list("signal"))
        if (signal.name === message.name) signal.take(message.data as never);
    }
    function post(message: Message, way: Way): void {
      if (way === "workers") workers?.tell("cluster", message);
      else board?.put(message);
    }
    const feeds = new Feeds({ list: () => ctx.list("feed"), post });
    ctx.defer(() => feeds.close());
    ctx.watch("feed", () => feeds.update());
    if (workers) ctx.defer(workers.on("cluster", (message: Message) => hear(message, "workers")));

    const { Board } = await import("./board.ts");
    const board =
      store().sharedBy === "gateways"
        ? new Board({
            store,
            gateway: workers?.gateway ?? randomUUID(),
            hear: (message) => hear(message, "gateways"),
            log: ctx.log,
          })
        : undefined;
    if (board) {
      ctx.task("hear of other gateways", { everyMs: Board.lookMs, immediately: true }, () =>
        board.look(),
      );
      ctx.defer(() => board.close());
    }

    function tell(name: string, data: unknown): void {
      for (const way of ["workers", "gateways"] as const) post({ kind: "signal", name, data }, way);
    }
    ctx.provide("cluster", { tell, watch: feeds.watch });

    const { attempts } = ctx.use("gateway");
    attempts.share((address) => tell("failed attempt", address));
    ctx.add("signal", { name: "failed attempt", take: attempts.note });
  },
});
