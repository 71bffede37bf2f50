/** A hook for both `message:sending` and `message:streaming`: streams flow, and whole responses are judged once. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";
import {
  chunk,
  completion,
  contentOf,
  DONE,
  json,
  startUpstream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("sending and streaming");
let upstream: Upstream;
let gateway: InProcessGateway;
let finishStream = (): void => {};

const both = `export default (event) => {
  const field = event.name === "message:sending" ? "content" : "text";
  event.context[field] = event.context[field].replaceAll("a", event.name === "message:sending" ? "W" : "S");
};`;

test.before(async () => {
  upstream = await startUpstream((request, res) => {
    if (!request.body.stream) return json(res, completion("banana"));
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(chunk({ role: "assistant", content: "bana" }));
    finishStream = () => {
      res.write(chunk({ content: "na" }));
      res.write(chunk({}, "stop"));
      res.end(DONE);
    };
  });
  gateway = await startGateway({
    config: {
      channels: {
        main: { provider: "openai", baseUrl: upstream.url, maxRetries: 0, models: ["m"] },
      },
      agents: { defaults: { model: "m", heartbeat: { every: "0" } } },
    },
    files: {
      "hooks/both/HOOK.md": "---\nevents: [message:sending, message:streaming]\n---\n",
      "hooks/both/handler.js": both,
    },
  });
});
test.after(async () => {
  await gateway?.stop();
  await upstream?.close();
});

const messages = [{ role: "user", content: "hi" }];
const doors: Record<string, [path: string, body: object]> = {
  chat: ["/v1/chat/completions", { model: "m", messages }],
  messages: ["/v1/messages", { model: "m", max_tokens: 9, messages }],
  responses: ["/v1/responses", { model: "m", input: "hi" }],
};

for (const [name, [path, body]] of Object.entries(doors)) {
  test(`${name}: a stream flows while the upstream is still writing`, async () => {
    const response = await gateway.request("POST", path, { ...body, stream: true });
    let text = "";
    let isFinished = false;
    for await (const bytes of response.body ?? []) {
      text += Buffer.from(bytes).toString("utf8");
      if (text.includes("bSnS") && !isFinished) {
        isFinished = true;
        finishStream();
      }
    }
    assert.ok(isFinished, "the first piece came before the end");
    assert.not.match(text, /bWnW/);
  });

  test(`${name}: only message:sending judges a whole response`, async () => {
    const text = await (await gateway.request("POST", path, body)).text();
    assert.match(text, /bWnWnW/);
  });
}

test("a hook for message:sending alone still holds the stream until it is complete", async () => {
  gateway.write("hooks/whole/HOOK.md", "---\nevents: [message:sending]\n---\n");
  gateway.write(
    "hooks/whole/handler.js",
    `export default (event) => { event.context.content += "!"; };`,
  );
  await gateway.json("POST", "/kernel/hooks/rescan");
  const [path, body] = doors["chat"]!;
  const requestCount = upstream.seen.length;
  const reading = gateway
    .request("POST", path, { ...body, stream: true })
    .then((response) => response.text());
  await until("the request upstream", () => upstream.seen.length > requestCount);
  finishStream();
  assert.is(contentOf(await reading).slice(-7), "bSnSnS!");
});

test.run();
