/** `GET /metrics`: the gateway for Prometheus. */
import { definePlugin, reply } from "portico";

export default definePlugin({
  name: "metrics",
  description: "Requests, channels, hooks, plugins, store and process for Prometheus, at /metrics",
  needs: ["store"],
  contributions: { metric: { fields: { name: "string", collect: "function" } } },
  async setup(ctx) {
    const { createChatCounts } = await import("./chat.ts");
    const chat = createChatCounts();
    ctx.add("meter", { name: "metrics", finished: chat.finished });

    type Scrape = () => Promise<string>;
    let scrape: Promise<Scrape> | undefined;
    async function prepare(): Promise<Scrape> {
      const { gatewaySources } = await import("./gateway.ts");
      const { processSource } = await import("./process.ts");
      const { scrape: run } = await import("./scrape.ts");
      const process = processSource();
      ctx.defer(() => process.stop());
      const own = [...gatewaySources(ctx), chat, process];
      return () => run([...own, ...ctx.list("metric")], ctx.log);
    }

    ctx.route("GET", "/metrics", { access: "gateway", summary: "Metrics for Prometheus" }, async () => {
      scrape ??= prepare().catch((error: unknown) => {
        scrape = undefined; // tried again at the next scrape
        throw error;
      });
      const { CONTENT_TYPE } = await import("./exposition.ts");
      return reply(200, await (await scrape)(), { "content-type": CONTENT_TYPE, "cache-control": "no-store" });
    });
  },
});
