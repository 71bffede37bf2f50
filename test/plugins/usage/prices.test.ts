/** Costs from the list of prices, which must agree with what its own library reckons. */
import * as library from "@pydantic/genai-prices";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { createPrices, needsList } from "../../../plugins/usage/prices.ts";

const test = suite("prices");
const costOf = createPrices({}, library);
const NOW = Date.UTC(2026, 10, 21);
const usage = (prompt: number, completion: number, cached = 0, written = 0) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
});

for (const [provider, model] of [
  ["openai", "gpt-4o-mini"],
  ["anthropic", "claude-sonnet-4-5"],
  ["gemini", "gemini-2.5-pro"],
  ["bedrock", "anthropic.claude-3-5-sonnet-20241022-v2:0"],
  ["azure", "gpt-4o"],
  ["mistral", "mistral-large-latest"],
  ["openrouter", "openai/gpt-4o"],
  ["perplexity", "sonar"],
  ["deepseek", "deepseek-chat"],
  ["xai", "grok-4"],
] as const) {
  test(`${provider}/${model}: short and long prompts, cached and not`, () => {
    for (const [prompt, completion, cached, written] of [
      [1000, 100, 0, 0],
      [5000, 1, 4000, 500],
      [300_000, 10_000, 1000, 0],
    ] as const) {
      const counts = {
        input_tokens: prompt,
        output_tokens: completion,
        cache_read_tokens: cached,
        cache_write_tokens: written,
      };
      const wanted = library.calcPrice(counts, model, {
        providerId: provider,
        timestamp: new Date(NOW),
      });
      const cost = costOf(
        { channel: "c", provider, model },
        usage(prompt, completion, cached, written),
        NOW,
      );
      assert.ok(wanted !== null && wanted.total_price > 0);
      assert.ok(
        Math.abs(cost! - wanted.total_price) < 1e-9,
        `${cost} is not ${wanted.total_price}`,
      );
    }
  });
}

test("an unlisted model has no price, and a local one costs nothing", () => {
  assert.is(
    costOf({ channel: "c", provider: "openai", model: "nobody-knows" }, usage(1, 1), NOW),
    undefined,
  );
  assert.is(
    costOf({ channel: "c", provider: "a-plugin", model: "gpt-4o" }, usage(1, 1), NOW),
    undefined,
  );
  assert.is(costOf({ channel: "c", provider: "ollama", model: "llama" }, usage(1, 1), NOW), 0);
});

test("implausible counts of an upstream are ignored", () => {
  const odd = { prompt_tokens: "7", completion_tokens: Number.NaN, total_tokens: -3 } as never;
  assert.is(costOf({ channel: "c", provider: "openai", model: "gpt-4o" }, odd, NOW), 0);
});

test("the list is only needed for prices that are not one's own", () => {
  const own = { "lab/*": { input: 1, output: 2 }, "gpt-4o": { input: 1, output: 2 } };
  assert.not.ok(needsList(own, { channel: "lab", provider: "openai", model: "any/thing" }));
  assert.not.ok(needsList(own, { channel: "x", provider: "openai", model: "gpt-4o" }));
  assert.ok(needsList(own, { channel: "x", provider: "openai", model: "gpt-4o-mini" }));
  assert.not.ok(needsList({}, { channel: "echo", provider: "echo", model: "echo" }));
});

test.run();
