/** Names that callers invent are bounded on every route, before anything remembers them. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../../support/gateway.ts";
import { suite } from "../../../support/suite.ts";

const test = suite("bounded names");
let gateway: InProcessGateway;

test.before(async () => {
  gateway = await startGateway({
    config: {
      channels: { down: { provider: "openai", baseUrl: "http://127.0.0.1:9/v1", apiKey: "k" } },
    },
  });
});
test.after(() => gateway.stop());

const messages = [{ role: "user", content: "x" }];
const bodies: Record<string, Record<string, unknown>> = {
  "/v1/chat/completions": { messages },
  "/v1/messages": { messages, max_tokens: 5 },
  "/v1/responses": { input: "x" },
  "/v1/embeddings": { input: "x" },
  "/v1/completions": { prompt: "x" },
  "/v1/moderations": { input: "x" },
  "/v1/images/generations": { prompt: "x" },
  "/v1/audio/speech": { input: "x", voice: "v" },
  "/v1/rerank": { query: "x", documents: ["x"] },
};

for (const [path, body] of Object.entries(bodies))
  for (const prefix of ["", "down/", "agent/"])
    test(`${path}: a model's name beginning with "${prefix}" has at most 256 characters`, async () => {
      const model = prefix.padEnd(257, "m");
      const refused = await gateway.request("POST", path, { ...body, model });
      assert.is(refused.status, 400);
      const text = await refused.text();
      assert.match(text, "at most 256");
      assert.not.match(text, "mmmmmmmmmm");
      const { records = [] } = await gateway.json("GET", "/requests").catch(() => ({}));
      assert.not.match(JSON.stringify(records), "mmmmmmmmmm");
      const longest = prefix.padEnd(256, "m");
      const unknown = await gateway.request("POST", path, { ...body, model: longest });
      assert.not.match(await unknown.text(), "at most 256");
    });

test("names of fallback models, tools, users and sessions are bounded as well", async () => {
  const long = "n".repeat(257);
  const post = async (more: object, headers: Record<string, string> = {}) => {
    const body = { model: "echo", messages, ...more };
    const response = await gateway.request("POST", "/v1/chat/completions", body, { headers });
    await response.text();
    return response.status;
  };
  const tool = (name: string) => ({ type: "function", function: { name } });
  assert.is(await post({ models: ["echo", long] }), 400);
  assert.is(await post({ tools: [tool(long)] }), 400);
  assert.is(await post({ tools: [tool(long.slice(1))] }), 200);
  assert.is(await post({ user: long }), 400);
  assert.is(await post({ user: long.slice(1) }), 200);
  assert.is(await post({}, { "x-portico-session": long }), 400);
  assert.is(await post({}, { "x-portico-session": long.slice(1) }), 200);
});

test.run();
