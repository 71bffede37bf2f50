import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import {
  clientCallId,
  isMintedCallId,
  mintCallId,
  shortCallId,
  upstreamCallId,
} from "../../../plugins/provider-kit/response/call-ids.ts";
import { claudeModel, geminiModel } from "../../../plugins/provider-kit/models/capabilities.ts";
import {
  carriedSignature,
  carriedThinking,
  carrySignature,
  carryThinking,
  originOf,
} from "../../../plugins/provider-kit/response/carry.ts";
import { readFields } from "../../../plugins/provider-kit/request/fields.ts";
import { strictSchema } from "../../../plugins/provider-kit/request/strict-schema.ts";
import { readTools } from "../../../plugins/provider-kit/request/tools.ts";

test("Claude by any name", () => {
  const names = [
    "claude-sonnet-4-5",
    "claude-sonnet-4.5",
    "claude-sonnet-4-5-20250929",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "claude-sonnet-4-5@20250929",
    "anthropic/claude-sonnet-4.5",
  ];
  for (const name of names) assert.equal(claudeModel(name), claudeModel("claude-sonnet-4-5"), name);
  const outputs: [string, number][] = [
    ["claude-3-haiku-20240307", 4096],
    ["claude-3-5-sonnet-20241022", 8192],
    ["claude-3-7-sonnet", 64_000],
    ["claude-opus-4-20250514", 32_000],
    ["claude-opus-4-1-20250805", 32_000],
    ["claude-sonnet-4-20250514", 64_000],
    ["claude-haiku-4-5-20251001", 64_000],
    ["claude-opus-4-6", 128_000],
    ["claude-opus-9", 128_000],
    ["llama-served-in-its-format", 4096],
  ];
  for (const [name, tokens] of outputs) assert.is(claudeModel(name).maxOutput, tokens, name);
  assert.is(claudeModel("claude-opus-4-6").sampling, "one");
  assert.is(claudeModel("claude-opus-4-7").sampling, "fixed");
  assert.is(claudeModel("claude-sonnet-5").forcedTools, true);
  assert.is(claudeModel("claude-sonnet-5-5").forcedTools, false);
  assert.is(claudeModel("claude-fable-5-1").off, undefined);
});

test("Gemini's generations", () => {
  assert.is(geminiModel("gemini-2.0-flash").thinking, "none");
  assert.is(geminiModel("gemini-2.5-pro").thinking, "budget");
  assert.is(geminiModel("gemini-3-flash-preview").thinking, "level");
  assert.equal(geminiModel("gemini-3-pro").levels, ["LOW", "HIGH"]);
  assert.equal(geminiModel("gemini-3.1-pro").levels, ["LOW", "MEDIUM", "HIGH"]);
  assert.is(geminiModel("gemma-3-27b-it").needsSignatures, false);
});

test("ids of calls come back as they were", () => {
  for (const id of ["toolu_01abc", "call_x", "a", "tooluse_-x"])
    assert.is(upstreamCallId(clientCallId(id)), id);
  const odd = upstreamCallId("functions.now:0");
  assert.match(odd, /^[A-Za-z0-9_-]+$/);
  assert.is(odd, upstreamCallId("functions.now:0"));
  assert.ok(isMintedCallId(mintCallId()));
  assert.not.ok(isMintedCallId("call_toolu_1"));
  assert.is(shortCallId("call_AbC123xyZ", 9), "AbC123xyZ");
  const short = shortCallId("call_toolu_01", 9);
  assert.match(short, /^[A-Za-z0-9]{9}$/);
  assert.is.not(short, shortCallId("call_toolu_02", 9));
});

test("signatures go back only to where they came from", () => {
  const target = { baseUrl: "http://a", model: "m", apiKey: "k" };
  const origin = originOf(target);
  const blocks = [{ text: "t", signature: "s" }, { sealed: "x" }];
  assert.equal(carriedThinking(carryThinking(origin, blocks), origin), blocks);
  for (const other of [{ model: "n" }, { apiKey: "l" }, { baseUrl: "http://b" }]) {
    assert.equal(
      carriedThinking(carryThinking(origin, blocks), originOf({ ...target, ...other })),
      [],
    );
    assert.is(
      carriedSignature(carrySignature(origin, "s"), originOf({ ...target, ...other })),
      undefined,
    );
  }
  assert.is(carriedSignature(carrySignature(origin, "s"), origin), "s");
  assert.is(carriedSignature({ google: { thought_signature: "g" } }, origin), "g");
  for (const junk of [
    null,
    7,
    "x",
    [],
    { portico: 7 },
    { portico: { origin, thinking: [null, { text: 1 }] } },
  ]) {
    assert.equal(carriedThinking(junk, origin), []);
    assert.is(carriedSignature(junk, origin), undefined);
  }
});

test("fields: one that no provider supports is reported, one without effect is not", () => {
  const messages: never[] = [];
  const fields = readFields({
    model: "m",
    messages,
    seed: 1,
    top_p: 1,
    n: 1,
    logit_bias: {},
    store: false,
    user: null,
    odd: 0,
  });
  assert.is(fields.number("top_p"), 1);
  fields.drop("tools[0]");
  assert.equal(fields.dropped().sort(), ["odd", "seed", "tools[0]"]);
  assert.throws(
    () => readFields({ model: "m", messages, seed: "1" }).number("seed"),
    /must be a number/,
  );
});

test("tools that only OpenAI has are refused", () => {
  const refused = (request: Record<string, unknown>) => {
    try {
      readTools({ model: "m", messages: [], ...request });
    } catch (error) {
      return (error as { param?: string }).param;
    }
    return "taken";
  };
  const tool = { type: "function", function: { name: "f" } };
  assert.is(refused({ tools: [{ type: "custom" }] }), "tools[0].type");
  assert.is(refused({ tools: [{ type: "function", function: {} }] }), "tools[0].function.name");
  assert.is(refused({ tool_choice: "required" }), "tool_choice");
  assert.is(refused({ tools: [tool], tool_choice: "sometimes" }), "tool_choice");
  assert.is(
    refused({ tools: [tool], tool_choice: { type: "custom", custom: { name: "f" } } }),
    "tool_choice",
  );
  assert.is(refused({ tools: [tool], tool_choice: "none" }), "taken");
  assert.is(refused({ tools: null, tool_choice: null }), "taken");
});

test("strict schemas are closed at every depth, with their limits in words", () => {
  const schema = {
    type: "object",
    properties: {
      list: {
        type: "array",
        minItems: 2,
        items: { type: "object", properties: { n: { type: "number", maximum: 5 } } },
      },
      minimum: { type: "string", description: "a property of that name" },
    },
    $defs: { x: { type: "object", properties: {} } },
  };
  assert.equal(strictSchema(schema), {
    type: "object",
    properties: {
      list: {
        type: "array",
        description: "minItems: 2",
        items: {
          type: "object",
          properties: { n: { type: "number", description: "maximum: 5" } },
          additionalProperties: false,
        },
      },
      minimum: { type: "string", description: "a property of that name" },
    },
    $defs: { x: { type: "object", properties: {}, additionalProperties: false } },
    additionalProperties: false,
  });
  const fine = {
    type: "object",
    properties: { a: { type: "string" } },
    required: ["a"],
    additionalProperties: false,
  };
  assert.equal(strictSchema(fine), fine);
});

test.run();
