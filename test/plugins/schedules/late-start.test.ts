/** What could not start late is tried again by itself, and meanwhile the gateway says that it is not ready. */
import * as assert from "uvu/assert";
import { startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

const lazy = `
  import { definePlugin, Type } from "portico";
  import { startLate } from "portico/schedules";
  let broken = true;
  export default definePlugin({
    name: "lazy",
    config: { lazy: Type.Object({}, { default: {} }) },
    setup(ctx, config) {
      ctx.route("POST", "/lazy/mend", { access: "gateway" }, () => { broken = false; return { ok: true }; });
      startLate(ctx, {
        section: "lazy", settings: config.lazy, afterMs: 0,
        start: async () => {
          if (broken) throw new Error("the disk is full");
          return { apply: async () => {}, stop: async () => {} };
        },
      });
    },
  });`;

const test = suite("late start");

test("a failed start is retried without a request", async () => {
  const gateway = await startGateway({ files: { "plugins/lazy/plugin.ts": lazy } });
  try {
    await until("the failure", async () => (await gateway.request("GET", "/ready")).status === 503);
    const { notReady } = await gateway.json("GET", "/kernel/status");
    assert.equal(notReady, [{ name: "lazy", error: "lazy could not start: the disk is full" }]);
    await gateway.json("POST", "/lazy/mend");
    await until(
      "the next attempt",
      async () => (await gateway.request("GET", "/ready")).status === 200,
    );
    const warnings = gateway.lines.filter(({ msg }) => msg === "lazy could not start");
    assert.is(warnings.length, 1, "the same failure is logged once");
  } finally {
    await gateway.stop();
  }
});

test.run();
