/** The plugin for client keys, each with its own limits, in addition to the owner's token. */
import { definePlugin } from "portico";
import type {} from "portico/metrics";
import { errors } from "./errors.ts";
import { keysSchema } from "./schema.ts";

export default definePlugin({
  name: "keys",
  description:
    "Provides client keys that have a list of allowed models, rate limits, budgets and an expiry date",
  configCheck: () => import("./config-check.ts"),
  config: { "gateway.keys": keysSchema },
  errors,
  needs: ["store"],
  commands: { keys: () => import("./cli.ts") },

  async setup(ctx, config) {
    const {
      createAuthenticator,
      createGate,
      createHolders,
      hashOf,
      isKey,
      mountKeys,
      openStoredKeys,
    } = await import("./parts.ts");

    let configured = config["gateway.keys"];
    const stored = await openStoredKeys(ctx, applyKeys);
    let keys = { ...stored.all(), ...configured };
    let authenticator = createAuthenticator(keys, Date.now);
    function applyKeys(): void {
      keys = { ...stored.all(), ...configured };
      authenticator = createAuthenticator(keys, Date.now);
    }
    ctx.onConfig((next: typeof config) => {
      configured = next["gateway.keys"];
      applyKeys();
    });
    ctx.add("authenticator", {
      name: authenticator.name,
      authenticate(token, req, caller) {
        const client = authenticator.authenticate(token, req, caller);
        if (client !== undefined || !stored.isShared || !isKey(token)) return client;
        return stored
          .find(hashOf(token))
          .then((isFound) =>
            isFound ? authenticator.authenticate(token, req, caller) : undefined,
          );
      },
    });
    const holders = createHolders(ctx);
    const gate = createGate({
      store: () => ctx.use("store"),
      usage: () => ctx.find("usage"),
      holders,
    });
    ctx.add("grant", {
      name: "client keys",
      kind: "key",
      find(name) {
        const key = Object.hasOwn(keys, name) ? keys[name] : undefined;
        return key === undefined
          ? []
          : [{ tools: key.tools, client: authenticator.clientOf(name) }];
      },
    });
    ctx.add("gate", gate);
    ctx.add("metric", {
      name: "keys",
      collect: async () => (await import("./metrics.ts")).keyMetrics(ctx, keys),
    });
    mountKeys({ ctx, keys: () => keys, stored, holders });
  },
});
