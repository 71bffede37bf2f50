/** Calls every route with clients in three languages: the openai and Anthropic packages for Node, Python, and curl. */
import { execFile } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { writeFileSync } from "node:fs";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI, { toFile } from "openai";
import { suite } from "../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../support/gateway.ts";
import { temporaryDir } from "../support/temporary.ts";
import { completion, hello } from "../support/upstreams/upstream.ts";

const test = suite("clients of three languages");
const run = promisify(execFile);
let server: Server;
let gateway: InProcessGateway;

/** The upstream's replies by route. */
const replies: Record<string, (body: Buffer) => object | Buffer | string> = {
  "/chat/completions": (body) => (json(body).stream ? hello.join("") : completion("Hello")),
  "/completions": (body) => {
    const choice = (text: string) => ({ index: 0, text, finish_reason: null, logprobs: null });
    const each = ["Hel", "lo"].map(
      (text) => `data: ${JSON.stringify({ choices: [choice(text)] })}\n\n`,
    );
    if (json(body).stream) return `${each.join("")}data: [DONE]\n\n`;
    return {
      id: "c",
      object: "text_completion",
      created: 1,
      model: "m",
      choices: [choice("Hello")],
    };
  },
  "/embeddings": (body) => {
    const vector = Buffer.from(Float32Array.of(0.5, -1).buffer).toString("base64");
    const embedding = json(body).encoding_format === "base64" ? vector : [0.5, -1];
    return { object: "list", data: [{ object: "embedding", index: 0, embedding }], model: "m" };
  },
  "/images/generations": () => ({ created: 1, data: [{ b64_json: "AAEC" }] }),
  "/images/edits": () => ({ created: 1, data: [{ b64_json: "AAEC" }] }),
  "/audio/speech": () => Buffer.from("\0\x01sound", "latin1"),
  "/audio/transcriptions": (body) => ({
    text: `${body.includes("\r\n\r\nsound\r\n") ? 5 : "other"} bytes`,
  }),
  "/audio/translations": (body) => ({
    text: `${body.includes("\r\n\r\nsound\r\n") ? 5 : "other"} bytes`,
  }),
  "/moderations": () => ({
    id: "m",
    model: "m",
    results: [{ flagged: true, categories: {}, category_scores: {} }],
  }),
  "/rerank": () => ({ id: "r", results: [{ index: 1, relevance_score: 0.9 }] }),
};
function typeOf(reply: object | string): string {
  if (Buffer.isBuffer(reply)) return "audio/mpeg";
  return typeof reply === "string" ? "text/event-stream" : "application/json";
}

const json = (body: Buffer) =>
  JSON.parse(body.toString("utf8")) as { stream?: boolean; encoding_format?: string };

test.before(async () => {
  server = createServer((req, res) => {
    const parts: Buffer[] = [];
    req.on("data", (part: Buffer) => parts.push(part));
    req.on("end", () => {
      const path = req.url!.replace(/^\/v1/, "");
      if (path === "/models") return res.end(JSON.stringify({ data: [{ id: "m" }] }));
      const reply = replies[path]!(Buffer.concat(parts));
      res.writeHead(200, { "content-type": typeOf(reply) });
      res.end(Buffer.isBuffer(reply) || typeof reply === "string" ? reply : JSON.stringify(reply));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  gateway = await startGateway({
    config: { channels: { main: { provider: "openai", baseUrl, apiKey: "k" } } },
  });
});
test.after(async () => {
  await gateway?.stop();
  server?.close();
});

test("Node: the openai package", async () => {
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.token, maxRetries: 0 });
  const [model, messages] = ["main/m", [{ role: "user" as const, content: "Hi" }]];
  assert.is(
    (await client.chat.completions.create({ model, messages })).choices[0]?.message.content,
    "Hello",
  );
  const streamed = await client.chat.completions.stream({ model, messages }).finalChatCompletion();
  assert.is(streamed.choices[0]?.message.content, "Hello");
  assert.is((await client.responses.create({ model, input: "Hi" })).output_text, "Hello");
  assert.is(
    (await client.responses.stream({ model, input: "Hi" }).finalResponse()).output_text,
    "Hello",
  );
  assert.is((await client.completions.create({ model, prompt: "Hi" })).choices[0]?.text, "Hello");
  let text = "";
  for await (const part of await client.completions.create({ model, prompt: "Hi", stream: true }))
    text += part.choices[0]?.text;
  assert.is(text, "Hello");
  assert.equal(
    (await client.embeddings.create({ model, input: "Hi" })).data[0]?.embedding,
    [0.5, -1],
  );
  assert.is((await client.models.retrieve(model)).id, model);
  assert.is((await client.images.generate({ model, prompt: "x" })).data?.[0]?.b64_json, "AAEC");
  const file = () => toFile(Buffer.from("sound"), "a.mp3", { type: "audio/mpeg" });
  assert.is(
    (await client.images.edit({ model, prompt: "x", image: await file() })).data?.[0]?.b64_json,
    "AAEC",
  );
  const speech = await client.audio.speech.create({ model, voice: "v", input: "x" });
  assert.is(Buffer.from(await speech.arrayBuffer()).toString("latin1"), "\0\x01sound");
  assert.is(
    (await client.audio.transcriptions.create({ model, file: await file() })).text,
    "5 bytes",
  );
  assert.is(
    (await client.audio.translations.create({ model, file: await file() })).text,
    "5 bytes",
  );
  assert.is((await client.moderations.create({ model, input: "x" })).results[0]?.flagged, true);
});

test("Node: the @anthropic-ai/sdk package", async () => {
  const client = new Anthropic({ baseURL: gateway.url, apiKey: gateway.token, maxRetries: 0 });
  const ask = {
    model: "main/m",
    max_tokens: 9,
    messages: [{ role: "user" as const, content: "Hi" }],
  };
  const { content } = await client.messages.create(ask);
  assert.equal(content, [{ type: "text", text: "Hello" }]);
  assert.is(await client.messages.stream(ask).finalText(), "Hello");
  const counted = await client.messages.countTokens({ model: ask.model, messages: ask.messages });
  assert.ok(counted.input_tokens > 0);
});

test("Python: the standard library, and the packages openai, anthropic and cohere where they are installed", async () => {
  const python = process.env.PORTICO_TEST_PYTHON ?? "python3";
  const script = join(import.meta.dirname, "every_route.py");
  const { stdout } = await run(python, [script, gateway.url, gateway.token]);
  assert.match(
    stdout,
    process.env.PORTICO_TEST_PYTHON === undefined ? /^urllib/ : /^urllib openai anthropic cohere/,
  );
});

test("the error for a base address without its /v1, or with two, explains it", async () => {
  for (const [base, expected] of [
    ["", /Use \/v1\/chat\/completions: the path is missing \/v1 at the start/],
    ["/v1/v1", /Use \/v1\/chat\/completions: the path begins with \/v1 twice/],
  ] as const) {
    const client = new OpenAI({
      baseURL: `${gateway.url}${base}`,
      apiKey: gateway.token,
      maxRetries: 0,
    });
    try {
      await client.chat.completions.create({ model: "main/m", messages: [] });
      assert.unreachable();
    } catch (error) {
      assert.is((error as { status: number }).status, 404);
      assert.match((error as Error).message, expected);
    }
  }
});

test("curl", async () => {
  const file = join(temporaryDir("clients"), "a.mp3");
  writeFileSync(file, "sound");
  const curl = async (path: string, ...words: string[]) => {
    const options = [
      "-sS",
      "--fail-with-body",
      "-H",
      `Authorization: Bearer ${gateway.token}`,
      ...words,
    ];
    return (await run("curl", [...options, `${gateway.url}${path}`], { encoding: "latin1" }))
      .stdout;
  };
  const data = (body: object) => [
    "-H",
    "Content-Type: application/json",
    "-d",
    JSON.stringify({ model: "main/m", ...body }),
  ];
  const messages = [{ role: "user", content: "Hi" }];
  const forms = ["-F", "model=main/m", "-F", "prompt=x"];
  const asks: [string, string[], RegExp][] = [
    ["/v1/models", [], /"main\/m"/],
    ["/v1/models/main/m", [], /"main\/m"/],
    ["/v1/chat/completions", data({ messages }), /"content":"Hello"/],
    [
      "/v1/chat/completions",
      ["-N", ...data({ messages, stream: true })],
      /"Hel"[\s\S]*data: \[DONE\]\n\n$/,
    ],
    ["/v1/messages", data({ messages, max_tokens: 9 }), /"text":"Hello"/],
    ["/v1/messages/count_tokens", data({ messages }), /"input_tokens":\d+/],
    ["/v1/responses", data({ input: "Hi" }), /"text":"Hello"/],
    ["/v1/completions", data({ prompt: "Hi" }), /"text":"Hello"/],
    ["/v1/embeddings", data({ input: "Hi" }), /\[0\.5,-1\]/],
    ["/v1/images/generations", data({ prompt: "x" }), /AAEC/],
    ["/v1/images/edits", [...forms, "-F", `image=@${file}`], /AAEC/],
    ["/v1/audio/speech", data({ voice: "v", input: "x" }), /^\0\x01sound$/],
    ["/v1/audio/transcriptions", [...forms, "-F", `file=@${file}`], /5 bytes/],
    ["/v1/audio/translations", [...forms, "-F", `file=@${file}`], /5 bytes/],
    ["/v1/moderations", data({ input: "x" }), /"flagged":true/],
    ["/v1/rerank", data({ query: "q", documents: ["a", "b"], top_n: 1 }), /"relevance_score":0\.9/],
  ];
  const outputs = await Promise.all(asks.map(([path, words]) => curl(path, ...words)));
  for (const [i, [path, , expected]] of asks.entries()) assert.match(outputs[i]!, expected, path);
});

test.run();
