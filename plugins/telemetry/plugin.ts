/** Traces for OpenTelemetry. Without a collector, the plugin registers nothing and costs nothing. */
import { definePlugin } from "portico";
import { telemetrySchema } from "./schema.ts";

export default definePlugin({
  name: "telemetry",
  description:
    "Sends traces of requests, turns and tools to the OpenTelemetry collector in telemetry.otlp",
  config: { telemetry: telemetrySchema },
  async setup(ctx, { telemetry }) {
    const { otlp, headers, serviceName, flushMs } = telemetry;
    if (otlp === undefined) return;
    const [{ Exporter }, spans] = await Promise.all([
      import("./exporter.ts"),
      import("./gen-ai.ts"),
    ]);
    const exporter = new Exporter({
      otlp,
      headers,
      serviceName,
      version: ctx.version,
      log: ctx.log,
    });
    // Disposers run in reverse order, so this one also sends spans that end while the plugin is unloaded.
    ctx.defer(() => exporter.flush());
    ctx.add("meter", {
      name: "telemetry",
      finished: (record) => exporter.add(spans.chatSpan(record, Date.now())),
    });
    ctx.on("agent:completed", ({ context }) => exporter.add(spans.turnSpan(context, Date.now())));
    ctx.on("agent:failed", ({ context }) =>
      exporter.add(spans.failedTurnSpan(context, Date.now())),
    );
    ctx.on("agent:tool", ({ context }) => exporter.add(spans.toolSpan(context, Date.now())));
    ctx.task("send traces", { everyMs: flushMs }, () => exporter.flush());
  },
});
