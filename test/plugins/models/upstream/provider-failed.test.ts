/** Errors of a local provider reach the client, the list of channels and the log, like those of a wire provider. */
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { porticoHere } from "../../../support/portico.ts";
import { type InProcessGateway, startGateway } from "../../../support/gateway.ts";

const test = suite("a provider that throws");
let gateway: InProcessGateway;
const source = `
import { definePlugin } from "portico";
const thrown = {
  bug: () => new TypeError("Cannot read properties of undefined (reading 'x')"),
  path: () => Object.assign(new Error("ENOENT: no such file, open '/home/somebody/private/key.pem'"), { code: "ENOENT" }),
  network: () => new TypeError("fetch failed", { cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }) }),
  limited: () => Object.assign(new Error("Slow down"), { status: 429, headers: new Headers({ "retry-after": "60" }), code: "slow" }),
  refused: () => Object.assign(new Error("bad key"), { status: 401 }),
  invalid: () => Object.assign(new Error("no such voice"), { status: 400, code: "bad_voice", param: "voice" }),
  overloaded: () => Object.assign(new Error("busy"), { statusCode: 529 }),
  late: () => new DOMException("too slow", "TimeoutError"),
  text: () => "just a text",
  nothing: () => undefined,
};
export default definePlugin({
  name: "throwing",
  setup(ctx) {
    const complete = async ({ model }) => { throw thrown[model](); };
    async function* stream(request) { await complete(request); yield ""; }
    ctx.add("provider", { name: "throwing", complete, stream });
  },
});
`;
const wired = `
import { once } from "node:events";
import { createServer } from "node:http";
import { definePlugin } from "portico";
import { createJsonDecoder, postJson } from "portico/chat";
const wire = {
  encode: ({ model }, target) => postJson(target.baseUrl, {}, { model }, {}),
  error: () => ({ kind: "upstream", message: "no" }),
  decoder: (_, target) => createJsonDecoder(target, {
    form: "lines",
    includeUsage: false,
    read(said, out) {
      if (said.text === "bug") said.x.y = 1;
      out.text(said.text);
    },
  }),
};
export default definePlugin({
  name: "wired",
  async setup(ctx) {
    const server = createServer(async (req, res) => {
      let body = "";
      for await (const part of req) body += part;
      res.setHeader("content-type", "application/x-ndjson");
      if (body.includes("later")) {
        res.write('{"text":"one"}\\n');
        await begun;
      }
      res.end('{"text":"bug"}\\n');
    });
    let begin;
    const begun = new Promise((resolve) => {
 begin = resolve;
});
    ctx.route("POST", "/t/begun", { access: "gateway" }, () => (begin(), {}));
    ctx.defer(() => void server.close());
    await once(server.listen(0, "127.0.0.1"), "listening");
    ctx.add("provider", { name: "wired", builtinChannel: "wired", defaultBaseUrl: "http://127.0.0.1:" + server.address().port, wire });
  },
});
`;
const models = [
  "bug",
  "path",
  "network",
  "limited",
  "refused",
  "invalid",
  "overloaded",
  "late",
  "text",
  "nothing",
];

test.before(async () => {
  gateway = await startGateway({
    files: { "plugins/throwing/plugin.ts": source, "plugins/wired/plugin.ts": wired },
    config: {
      channels: Object.fromEntries(
        models.map((name) => [name, { provider: "throwing", models: [name], maxRetries: 0 }]),
      ),
    },
  });
});
test.after(() => gateway?.stop());

const expected: Record<string, [number, string, string]> = {
  bug: [
    502,
    "upstream_error",
    "The provider `throwing` failed: Cannot read properties of undefined (reading 'x').",
  ],
  path: [502, "upstream_error", "The provider `throwing` failed: ENOENT: no such file, open '…'."],
  network: [502, "upstream_error", "The provider `throwing` failed: fetch failed (ECONNREFUSED)."],
  limited: [429, "slow", "The provider `throwing` failed: Slow down."],
  refused: [
    502,
    "upstream_auth",
    "The upstream refused the gateway's key: The provider `throwing` failed: bad key.",
  ],
  invalid: [400, "bad_voice", "no such voice"],
  overloaded: [503, "upstream_error", "The provider `throwing` failed: busy."],
  late: [504, "upstream_timeout", "The provider `throwing` failed: too slow."],
  text: [502, "upstream_error", "The provider `throwing` failed: just a text."],
  nothing: [502, "upstream_error", "The provider `throwing` failed."],
};

for (const model of models) {
  test(model, async () => {
    for (const stream of [false, true]) {
      const body = {
        model: `${model}/${model}`,
        messages: [{ role: "user", content: "Hi" }],
        stream,
      };
      const response = await gateway.request("POST", "/v1/chat/completions", body);
      const { error } = (await response.json()) as {
        error: { code: string; message: string; param: string | null };
      };
      assert.equal([response.status, error.code, error.message], expected[model]);
      if (model === "limited") assert.is(response.headers.get("retry-after"), "60");
      if (model === "invalid") assert.is(error.param, "voice");
    }
    const { channels } = await gateway.json("GET", "/channels");
    const { lastError } = channels.find((channel: { name: string }) => channel.name === model);
    if (model !== "invalid") assert.is(lastError, expected[model]![2]);
  });
}

test("a bug in the decoder of a wire provider is reported as such, before the first text and after", async () => {
  for (const [model, status] of [
    ["early", 502],
    ["later", 200],
  ] as const) {
    const body = {
      model: `wired/${model}`,
      messages: [{ role: "user", content: "Hi" }],
      stream: true,
    };
    const response = await gateway.request("POST", "/v1/chat/completions", body);
    assert.is(response.status, status);
    if (model === "later") await gateway.request("POST", "/t/begun");
    const text = await response.text();
    assert.match(
      text,
      /The provider `wired` failed: Cannot set properties of undefined \(setting 'y'\)\./,
    );
    assert.is(text.includes('"content":"one"'), model === "later");
    const { runs } = await gateway.json("GET", "/kernel/plugins/wired");
    const { lastError } = runs["provider wired"];
    assert.equal([lastError.file, lastError.line], ["plugin.ts", 13]);
    assert.match(lastError.message, /setting 'y'/);
  }
});

test("plugins info shows the numbers of requests and failures, and the last failure with its location", async () => {
  await gateway.request("POST", "/v1/chat/completions", {
    model: "bug/bug",
    messages: [{ role: "user", content: "Hi" }],
  });
  const { runs } = await gateway.json("GET", "/kernel/plugins/throwing");
  const { lastError, ...counts } = runs["provider throwing"];
  // an error of the caller is no failure
  assert.equal(counts, { runs: 21, failures: 19 });
  assert.equal([lastError.file, lastError.line], ["plugin.ts", 4]);
  assert.match(lastError.message, /reading 'x'/);
  assert.ok(!("stack" in lastError));
  const { stdout } = await porticoHere(gateway.home, ["plugins", "info", "throwing"]);
  assert.match(
    stdout,
    /Runs +provider throwing: 21, of which 19 failed\n +Last error +\S+ plugin\.ts:4: .*reading 'x'/,
  );
});

test("the log contains the stack", () => {
  const logged = gateway.lines.filter((line) => JSON.stringify(line).includes("reading 'x'"));
  assert.ok(
    logged.some((line) => /plugin\.ts/.test(JSON.stringify(line))),
    JSON.stringify(logged),
  );
});

test.run();
