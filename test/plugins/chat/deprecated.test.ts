/** Providers that were written against `portico/chat`, and write bytes of an OpenAI stream, go on to work. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import {
  contentOf,
  eventsOf,
  startUpstream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("deprecated interface of providers");
let up: Upstream;
let gateway: InProcessGateway;

/** As `plugins new --kind provider` wrote it. */
const plugin = `
import { definePlugin } from "portico";
import {
  bearerHeaders, completionFrom, createJsonDecoder, kindOfStatus, parseObject, postJson, readConversation, readFields,
  textOf, tokenUsage, upstreamError, wantsUsage, type WireProvider,
} from "portico/chat";

interface Said {
  text?: string;
  finish?: "stop" | "length";
  tokens?: { in: number; out: number };
  error?: string;
}

const usageOf = ({ tokens }: Said) => tokens && tokenUsage({ prompt: tokens.in, completion: tokens.out });

const wire: WireProvider = {
  encode(request, target) {
    const fields = readFields(request);
    const { turns } = readConversation(request.messages);
    const prompt = turns.map((turn) => textOf("parts" in turn ? turn.parts : [])).join("\\n");
    const body = { model: target.model, prompt, stream: request.stream === true };
    return postJson(target.baseUrl + "/generate", bearerHeaders(target), body, { fields, state: wantsUsage(request) });
  },
  decode(body, _sent, target) {
    const said: Said = parseObject(body) ?? {};
    const message = { role: "assistant", content: said.text ?? "" };
    return completionFrom(target, { choices: [{ message, finish: said.finish ?? "stop" }], usage: usageOf(said) });
  },
  decoder: (sent, target) =>
    createJsonDecoder<Said>(target, {
      form: "events",
      includeUsage: sent.state === true,
      read(said, out) {
        if (said.error !== undefined) throw upstreamError({ kind: "upstream", message: said.error }, 0);
        if (said.text) out.text(said.text);
        if (said.finish) out.end(said.finish, usageOf(said));
      },
    }),
  error: (status) => ({ kind: kindOfStatus(status), message: "no" }),
};

export default definePlugin({
  name: "before",
  setup(ctx) {
    ctx.add("provider", { name: "before", wire });
  },
});
`;

test.before(async () => {
  up = await startUpstream((_, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    const events = [
      { text: "Hel" },
      { text: "lo" },
      { finish: "length", tokens: { in: 3, out: 2 } },
    ];
    res.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  });
  const channel = { provider: "before", baseUrl: up.url, models: ["m"], maxRetries: 0 };
  gateway = await startGateway({
    config: { channels: { one: channel } },
    files: { "plugins/before/plugin.ts": plugin },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

test("its stream reaches clients of every format, with its usage on request", async () => {
  const messages = [{ role: "user", content: "hi" }];
  const body = { model: "m", max_tokens: 5, stream: true, messages };
  const request = { ...body, stream_options: { include_usage: true } };
  const chat = await (await gateway.request("POST", "/v1/chat/completions", request)).text();
  assert.is(contentOf(chat), "Hello");
  const [finish, usage, done] = eventsOf(chat).slice(-3);
  assert.is(finish.choices[0].finish_reason, "length");
  assert.equal([usage.usage.total_tokens, done], [5, "[DONE]"]);
  const own = await (await gateway.request("POST", "/v1/messages", body)).text();
  assert.match(own, '"text":"Hel"');
  assert.match(own, '"stop_reason":"max_tokens"');
  assert.match(own, '"output_tokens":2');
});

test.run();
