/** Makes the workers of a gateway, and the gateways that share a store, hear of each other. */
import { randomUUID } from "node:crypto";
import { definePlugin, type PluginContext } from "portico";
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
  },
  async setup(ctx, config) {
    const { Feeds } = await import("./feeds.ts");
    const workers = ctx.find("workers");
    const gateway = workers?.gateway ?? randomUUID();
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
            gateway,
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

    await registerGateway(ctx, gateway, config["gateway.name"]);

    const { attempts } = ctx.use("gateway");
    attempts.share((address) => tell("failed attempt", address));
    ctx.add("signal", { name: "failed attempt", take: attempts.note });
  },
});

/** Lists this gateway among those that share the store. */
async function registerGateway(
  ctx: PluginContext,
  gateway: string,
  name: string | undefined,
): Promise<void> {
  const { Register } = await import("./register.ts");
  const { gatewaysRoute } = await import("./routes-schema.ts");
  const register = new Register({
    store: () => ctx.use("store"),
    workers: ctx.find("workers"),
    gateway,
    name,
    version: ctx.version,
    url: () => ctx.url(),
    startedAt: ctx.use("gateway").startedAt,
  });
  ctx.route("GET", "/gateways", gatewaysRoute, async () => ({ gateways: await register.list() }));
  if (!register.isWriter) return;
  const renew = async () => {
    // The address is known once the gateway listens.
    if (ctx.ports()[0] === 0) return;
    await register.renew().catch((err: unknown) => {
      // The exchange of messages warns of a store that does not respond.
      ctx.log.debug({ err }, "The gateway's entry in the list of gateways was not renewed.");
    });
  };
  // Undone after the task, so that no renewal writes the entry again.
  ctx.defer(() => register.remove());
  ctx.on("gateway:startup", renew);
  ctx.task("sign of life", { everyMs: Register.renewMs, immediately: true }, renew);
}
