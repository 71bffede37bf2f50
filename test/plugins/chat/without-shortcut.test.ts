/** The shortcut through streams of text changes nothing: with it and without it, clients see the same. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { RepeatedEvent } from "../../../plugins/provider-kit/openai/repeated-event.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import {
  chunk,
  DONE,
  data,
  hello,
  startUpstream,
  stream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("streams without the shortcut");
let up: Upstream;
let gateway: InProcessGateway;

test.before(async () => {
  up = await startUpstream(() => {});
  const base = { provider: "openai", baseUrl: up.url, models: ["*"], maxRetries: 0 };
  gateway = await startGateway({
    config: { channels: { oai: { ...base, apiKey: "secret-of-the-channel" } } },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

const words = (texts: string[], more: object = {}) =>
  texts.map((content) => chunk({ content }, null, more));
const role = chunk({ role: "assistant", content: "" });
const stop = chunk({}, "stop");
const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };

const samples: Record<string, string[]> = {
  hello,
  text: [role, ...words(["a", "b ", "c", "", "d"]), stop, DONE],
  "characters that JSON escapes": [
    role,
    ...words(['a"b', "\\", "\n", "é😀", "\u2028", "x"]),
    stop,
    DONE,
  ],
  "members that nobody knows": [
    role,
    ...words(["a", "b", "c"], { provider: { name: "p" } }),
    stop,
    DONE,
  ],
  "a secret in pieces": [
    role,
    ...words(["it is ", "secret-", "of-the-", "channel", " ."]),
    stop,
    DONE,
  ],
  "text like JSON": [role, ...words(["a", '"},"finish_reason":"stop"', "b", "[DONE]"]), stop, DONE],
  "calls between texts": [
    ...[role, ...words(["a", "b"])],
    chunk({ tool_calls: [{ index: 0, id: "c1", function: { name: "f", arguments: '{"a":' } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: "1}" } }] }),
    ...[...words(["c", "d"]), stop, DONE],
  ],
  "text behind its end": [role, ...words(["a", "b"]), stop, ...words(["c"]), DONE],
  "an end without a reason": [role, ...words(["a", "b", "c"]), DONE],
  "usage at the end": [role, ...words(["a", "b"]), stop, data({ choices: [], usage }), DONE],
  "an error between texts": [role, ...words(["a", "b"]), data({ error: { message: "broke" } })],
};

/** The inputs that gateways are known to mishandle, as far as they are streams of OpenAI's format. */
function addCases(): void {
  const dir = join(import.meta.dirname, "cases");
  for (const file of readdirSync(dir)) {
    const { chunks } = JSON.parse(readFileSync(join(dir, file), "utf8"));
    if (!Array.isArray(chunks)) continue;
    samples[file] = chunks.map((item) => (typeof item === "string" ? item : data(item)));
  }
}
addCases();

async function answersTo(events: string[]): Promise<string[]> {
  up.answer = (_, res) => stream(res, ...events);
  const responses: string[] = [];
  for (const path of ["/v1/chat/completions", "/v1/messages", "/v1/responses"]) {
    const messages = [{ role: "user", content: "go" }];
    const requestBody = path.endsWith("responses")
      ? { input: messages }
      : { messages, max_tokens: 9 };
    const response = await gateway.request("POST", path, {
      ...{ model: "oai/m", stream: true, stream_options: { include_usage: true } },
      ...requestBody,
    });
    responses.push(`${response.status} ${withoutOwnIds(await response.text())}`);
  }
  return responses;
}

/** Each response has new ids and times. */
function withoutOwnIds(text: string): string {
  return text
    .replace(/"(?:id|item_id|call_id|request_id)":"[^"]*"/g, '"id":""')
    .replace(/"(?:created|created_at|completed_at)":\d+/g, '"created":0');
}

test("clients of every format receive the same from each stream with and without the shortcut", async () => {
  const { read } = RepeatedEvent.prototype;
  let taken = 0;
  for (const [name, events] of Object.entries(samples)) {
    RepeatedEvent.prototype.read = function (json) {
      const event = read.call(this, json);
      if (event !== undefined) taken++;
      return event;
    };
    const withIt = await answersTo(events).finally(() => {
      RepeatedEvent.prototype.read = read;
    });
    RepeatedEvent.prototype.read = () => undefined;
    const withoutIt = await answersTo(events).finally(() => {
      RepeatedEvent.prototype.read = read;
    });
    assert.equal(withIt, withoutIt, name);
  }
  assert.ok(taken > 20, `the shortcut was taken ${taken} times`);
});

test.run();
