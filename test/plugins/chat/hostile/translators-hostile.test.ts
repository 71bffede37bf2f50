/** Plugins that open a stream and then break: no place and no connection to an upstream outlives the response. */
import { gzipSync } from "node:zlib";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../../support/gateway.ts";
import { until } from "../../../support/until.ts";
import { chunk, DONE, startUpstream, type Upstream } from "../../../support/upstreams/upstream.ts";

const test = suite("translators hostile");
let up: Upstream;
let gateway: InProcessGateway;

const plugin = `
import { definePlugin } from "portico";
export default definePlugin({
  name: "breaking",
  setup(ctx) {
    ctx.route("POST", "/breaking/:where", { access: "client" }, async (call) => {
      const body = await call.json();
      const { where } = call.params;
      const opened = await ctx.use("chat").open(call, body, { stream: true, body });
      if (where === "before") throw new Error("boom");
      if (where === "another") return { instead: true };
      const text = (at, out) => {
        if (where === at) throw new Error("boom");
        return out;
      };
      void opened.pipe({
        chunk: () => text("chunk", "data: a\\n\\n"),
        end: () => (where === "later" ? Promise.reject(new Error("boom")) : text("end", "data: end\\n\\n")),
        fail: () => text("fail", "data: failed\\n\\n"),
      });
      return undefined;
    });
  },
});
`;

test.before(async () => {
  up = await startUpstream(() => {});
  const channel = {
    provider: "openai",
    baseUrl: up.url,
    models: ["m"],
    maxRetries: 0,
    maxConcurrent: 1,
  };
  gateway = await startGateway({
    config: { channels: { one: channel } },
    files: { "plugins/breaking/plugin.ts": plugin },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

const begun = chunk({ role: "assistant", content: "a" });
const whole = begun + chunk({}, "stop") + DONE;
const cases: [string, string, boolean][] = [
  ["before", begun, false],
  ["another", begun, false],
  ["chunk", begun, false],
  ["end", whole, true],
  ["later", whole, true],
  ["fail", begun, true],
];

for (const zipped of [false, true]) {
  for (const [where, text, ends] of cases) {
    test(`a throw: ${where}${zipped ? ", of a compressed stream" : ""}`, async () => {
      let breakOff = () => {};
      up.answer = (_, res) => {
        res.writeHead(200, {
          "content-type": "text/event-stream",
          ...(zipped ? { "content-encoding": "gzip" } : {}),
        });
        const bytes = zipped ? gzipSync(text) : text;
        if (ends && where !== "fail") res.end(bytes);
        else res.write(bytes);
        breakOff = () => res.destroy();
      };
      const body = { model: "m", messages: [{ role: "user", content: "hi" }] };
      const response = await gateway.request("POST", `/breaking/${where}`, body);
      if (where === "fail") breakOff();
      const ended = await response.text().then(
        (all) => all,
        () => "cut",
      );
      assert.is(response.status, where === "before" ? 500 : 200, ended);
      if (where === "another") assert.is(ended, '{"instead":true}');
      await until("the place is free", async () => {
        const { channels } = await gateway.json("GET", "/channels");
        return channels.find((channel: { name: string }) => channel.name === "one").inFlight === 0;
      });
      if (!ends) await up.seen.at(-1)!.cut;
    });
  }
}

test.run();
