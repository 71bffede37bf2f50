/** Keys for clients beside the owner's token, each with limits of its own. */
import { definePlugin } from "portico";
import { keysSchema } from "./schema.ts";

export default definePlugin({
  name: "keys",
  description: "Client keys with allowed models, rate limits, budgets and an expiry",
  config: { "gateway.keys": keysSchema },
  needs: ["store"],
  commands: { keys: () => import("./cli.ts") },

  async setup(ctx, config) {
    const { createAuthenticator } = await import("./grant.ts");
    const { createGate } = await import("./gate.ts");
    const { createHolders } = await import("./holders.ts");
    const { mountKeys } = await import("./routes.ts");

    let keys = config["gateway.keys"];
    let known = createAuthenticator(keys, Date.now);
    ctx.onConfig((next: typeof config) => {
      keys = next["gateway.keys"];
      known = createAuthenticator(keys, Date.now);
    });
    ctx.add("authenticator", { name: known.name, authenticate: (token, req) => known.authenticate(token, req) });
    const holders = createHolders(ctx);
    const gate = createGate({ store: () => ctx.use("store"), usage: () => ctx.find("usage"), holders, log: ctx.log });
    ctx.add("gate", gate);
    ctx.add("meter", gate);
    mountKeys(ctx, () => keys, holders);
  },
});
