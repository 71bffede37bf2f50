import {
  type ChatRequest,
  fitToolNames,
  PLAIN_TOOL_NAME,
  type WireProvider,
} from "portico/provider";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { anthropic } from "../../../plugins/provider-anthropic/wire.ts";
import { createBedrock } from "../../../plugins/provider-bedrock/wire.ts";
import { gemini } from "../../../plugins/provider-gemini/wire.ts";
import { mistral } from "../../../plugins/provider-mistral/wire.ts";
import { anthropic as anthropicDialect } from "../../support/upstreams/anthropic.ts";
import { bedrock as bedrockDialect } from "../../support/upstreams/bedrock.ts";
import type { Dialect } from "../../support/upstreams/dialect.ts";
import { gemini as geminiDialect } from "../../support/upstreams/gemini.ts";
import { mistral as mistralDialect } from "../../support/upstreams/mistral.ts";
import { decodeAll, makeTarget, readChunks, recode } from "../../support/target.ts";

const tool = (name: string) => ({
  type: "function",
  function: { name, parameters: { type: "object", properties: {} } },
});
const LONG = "n".repeat(90);
const ODD = [
  "files.read",
  "files read",
  "files/read",
  "été",
  "名前",
  "a:b",
  "1",
  LONG,
  `${LONG}x`,
  "💥",
];

const asking = (names: readonly string[]): ChatRequest => ({
  model: "m",
  tools: names.map(tool),
  tool_choice: { type: "function", function: { name: names[0] } },
  messages: [
    { role: "user", content: "Hi" },
    {
      role: "assistant",
      tool_calls: names.map((name, i) => ({
        id: `call_${i}`,
        type: "function",
        function: { name, arguments: "{}" },
      })),
    },
    ...names.map((_, i) => ({ role: "tool", tool_call_id: `call_${i}`, content: "done" })),
  ],
});
const namesOf = (request: ChatRequest) => request.tools!.map((tool) => tool.function!.name);

test("valid names stay, and so does the request", () => {
  const request = asking(["read_file", "list-files", "A".repeat(64)]);
  assert.is(fitToolNames(request).request, request);
});

test("every other name fits, differs from all others, is the same each time, and leads back", () => {
  const request = asking(ODD);
  const { request: sent, names } = fitToolNames(request);
  const fit = namesOf(sent);
  for (const name of fit) assert.match(name, PLAIN_TOOL_NAME);
  assert.is(new Set(fit).size, ODD.length);
  assert.equal(namesOf(fitToolNames(request).request), fit);
  assert.equal(fit.map(names.original), ODD);
  assert.equal(
    sent.messages[1]!.tool_calls!.map((call) => call.function!.name),
    fit,
  );
  assert.is((sent["tool_choice"] as { function: { name: string } }).function.name, fit[0]);
});

test("a name that looks like the fitted form of another one is still its own", () => {
  const [fitted] = namesOf(fitToolNames(asking(["files.read"])).request);
  const { request, names } = fitToolNames(asking(["files.read", fitted!]));
  const fit = namesOf(request);
  assert.is.not(fit[0], fit[1]);
  assert.equal(fit.map(names.original), ["files.read", fitted]);
});

const providers: [WireProvider, Dialect][] = [
  [anthropic, anthropicDialect],
  [createBedrock({ env: {}, now: () => new Date() }), bedrockDialect],
  [gemini, geminiDialect],
  [mistral, mistralDialect],
];

for (const [wire, dialect] of providers) {
  test(`${dialect.name}: sees names that it takes; the caller sees its own, whole and streamed`, async () => {
    const target = makeTarget({ model: dialect.model });
    const sent = await wire.encode(asking(ODD), target);
    const sentText = JSON.stringify(sent.body);
    for (const name of ODD.filter((name) => name.length > 1))
      assert.not.ok(sentText.includes(`\\"${name}\\"`), name);
    const [fit] = /files_read_[0-9a-f]{12}/.exec(sentText)!;
    const script = { calls: [{ name: fit, args: { a: 1 } }] };
    const whole = wire.decode!(dialect.whole(script), sent, target);
    assert.is(whole.choices[0]!.message.tool_calls![0]!.function!.name, "files.read");
    const chunks = readChunks(decodeAll(recode(wire, sent, target), dialect.stream(script)));
    const calls = chunks.flatMap((chunk) =>
      chunk.choices.flatMap((choice) => choice.delta.tool_calls ?? []),
    );
    assert.is(calls[0]!.function!.name, "files.read");
  });
}

test.run();
