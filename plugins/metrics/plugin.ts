/** `GET /metrics`: the gateway's metrics for Prometheus. */
import { definePlugin, reply, Type } from "portico";
import type { MetricFamily } from "portico/metrics";
import { contentResponse } from "portico/openapi";

export default definePlugin({
  name: "metrics",
  description:
    "Serves metrics of requests, channels, hooks, plugins, store and process for Prometheus at /metrics",
  needs: ["store"],
  contributions: { metric: { fields: { name: "string", collect: "function" } } },
  async setup(ctx) {
    const {
      createChatCounts,
      createWorkCounts,
      emptyTallies,
      emptyWorkTallies,
      collectFromWorkers,
      serveFamilies,
    } = await import("./parts.ts");
    const chat = createChatCounts(ctx.keep("chat", emptyTallies));
    ctx.add("meter", { name: "metrics", finished: chat.finished });
    const work = createWorkCounts(ctx, ctx.keep("work", emptyWorkTallies));

    type Collect = () => Promise<MetricFamily[]>;
    let collecting: Promise<Collect> | undefined;
    async function prepare(): Promise<Collect> {
      const { gatewaySources } = await import("./gateway.ts");
      const { processSource } = await import("./process.ts");
      const { collectAll } = await import("./scrape.ts");
      const process = processSource();
      ctx.defer(() => process.stop());
      const sources = [...gatewaySources(ctx), chat, work, process];
      return () => collectAll([...sources, ...ctx.list("metric")], ctx.log);
    }
    async function families(): Promise<MetricFamily[]> {
      collecting ??= prepare().catch((error: unknown) => {
        collecting = undefined; // retried at the next scrape
        throw error;
      });
      return (await collecting)();
    }
    const workers = ctx.find("workers");
    if (workers) ctx.defer(serveFamilies(workers, families));

    ctx.route(
      "GET",
      "/metrics",
      {
        access: "gateway",
        summary: "Get the metrics of the gateway for Prometheus",
        response: contentResponse("text/plain", Type.String()),
      },
      async () => {
        const { CONTENT_TYPE, render } = await import("./exposition.ts");
        const ownFamilies = await families();
        return reply(
          200,
          render(workers ? await collectFromWorkers(workers, ownFamilies) : ownFamilies),
          {
            "content-type": CONTENT_TYPE,
            "cache-control": "no-store",
          },
        );
      },
    );
  },
});
