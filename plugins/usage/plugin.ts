/** The plugin that counts requests, tokens and costs. */
import { definePlugin } from "portico";
import { errors } from "./errors.ts";
import { usageSchema } from "./schema.ts";

export default definePlugin({
  name: "usage",
  description: "Counts tokens and costs by request, channel, model, client key and day",
  config: { usage: usageSchema },
  needs: ["store"],
  errors,
  commands: { usage: () => import("./cli/usage.ts") },

  async setup(ctx, config) {
    const { emptyLedger, Ledger, readQuery, readRequestsQuery, report, requestPage, usageRoutes } =
      await import("./parts.ts");

    const store = () => ctx.use("store");
    const services = {
      store,
      log: ctx.log,
      prices: config.usage.prices,
      keepRequests: config.usage.requests.keep,
    };
    const ledger = new Ledger(services, ctx.keep("unwritten", emptyLedger));
    ctx.defer(() => ledger.flush());
    ctx.add("meter", { name: "usage", finished: (record) => ledger.add(record) });
    ctx.task("write usage", { everyMs: config.usage.flushMs }, () => ledger.flush());
    ctx.add("pricing", {
      name: "usage",
      now: () => store().now(),
      costOf: (target, usage) => ledger.costOf(target, usage),
      facts: (target) => ledger.facts(target),
      spent: (channel, since) => ledger.spent({ channel }, since),
    });
    ctx.provide("usage", {
      spent: (key, since) => ledger.spent({ key }, since),
      hasPrice: (target) => ledger.hasPrice(target),
      flush: () => ledger.flush(),
    });
    ctx.route("GET", "/usage", usageRoutes.sums, async (call) => {
      const query = readQuery(call.query, store().now());
      await ledger.flush();
      return report(store(), query);
    });
    ctx.route("GET", "/usage/requests", usageRoutes.requests, async (call) => {
      const query = readRequestsQuery(call.query, store().now());
      await ledger.flush();
      return requestPage(store(), query);
    });
  },
});
