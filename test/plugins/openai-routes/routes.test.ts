/** OpenAI's routes beside chat, through the openai package and plain requests. */
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import OpenAI, { toFile } from "openai";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { hashOf } from "../../../plugins/keys/grant.ts";
import { hookFiles } from "../../support/hook-files.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";

const test = suite("openai routes");
interface Seen {
  path: string;
  headers: IncomingMessage["headers"];
  body: Buffer;
}
let server: Server;
let gateway: InProcessGateway;
let client: OpenAI;
let requests: Seen[] = [];
let respond: (request: Seen, res: ServerResponse) => void;

function json(res: ServerResponse, body: unknown, status = 200): void {
  res.writeHead(status, { "content-type": "application/json" });
  res.end(JSON.stringify(body));
}
const bodyOf = (request: Seen | undefined) =>
  JSON.parse(String(request?.body)) as Record<string, unknown>;

const params = {
  default: { temperature: 0.5, reasoning_effort: "low" },
  force: { seed: 1, model: "other" },
  max: { max_completion_tokens: 10, n: 2 },
};

test.before(async () => {
  server = createServer((req, res) => {
    const parts: Buffer[] = [];
    req.on("data", (part: Buffer) => parts.push(part));
    req.on("end", () => {
      const request = { path: req.url ?? "", headers: req.headers, body: Buffer.concat(parts) };
      if (req.method === "GET") return json(res, { data: [] });
      requests.push(request);
      respond(request, res);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const root = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  gateway = await startGateway({
    files: hookFiles(
      "guard",
      `const { content } = event.context;
       if (content.includes("forbidden")) return { block: "not that" };
       if (content === "which session") return { block: event.sessionKey };
       if (content === "answer me") return { reply: "by a hook" };
       if (content.includes("secret")) event.context.content = content.replace("secret", "******");`,
    ),
    config: {
      channels: {
        main: {
          provider: "openai",
          baseUrl: `${root}/v1`,
          apiKey: "sk-main-secret-0123456789",
          maxRetries: 1,
        },
        claude: { provider: "anthropic", baseUrl: root, apiKey: "k", models: ["claude-x"] },
        fim: { provider: "mistral", baseUrl: root, apiKey: "k", models: ["codestral"] },
      },
      models: {
        hear: "main/whisper-1",
        code: "fim/codestral",
        both: { targets: ["claude/claude-x", "main/gpt-x"] },
        shaped: { targets: ["main/gpt-x", "fim/codestral"], system: "S", params },
      },
      gateway: {
        keys: {
          ears: { hash: hashOf("pk_ears"), models: ["hear"] },
          any: { hash: hashOf("pk_any") },
          once: { hash: hashOf("pk_once"), models: ["*"], requestsPerMinute: 1 },
        },
      },
    },
  });
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.token, maxRetries: 0 });
});
test.after(async () => {
  await gateway?.stop();
  server?.closeAllConnections();
  server?.close();
});
test.before.each(() => {
  requests = [];
  respond = (request, res) => json(res, { path: request.path });
});

async function refusal(work: PromiseLike<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  try {
    await work;
  } catch (error) {
    if (error instanceof OpenAI.APIError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

test("completions pass unchanged but for the model's name, whole and streamed", async () => {
  const choice = { text: "Hi", index: 0, finish_reason: "stop", logprobs: null };
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  respond = (_, res) =>
    json(res, { id: "cmpl-1", object: "text_completion", choices: [choice], usage, odd: 1 });
  const request = {
    model: "main/gpt-x",
    prompt: "def f(",
    suffix: "return",
    max_tokens: 5,
    echo: true,
  };
  const { data, response } = await client.completions.create(request).withResponse();
  assert.is(data.choices[0]?.text, "Hi");
  assert.is((data as unknown as { odd: number }).odd, 1);
  assert.equal(bodyOf(requests[0]), { ...request, model: "gpt-x" });
  assert.equal(
    [requests[0]!.path, requests[0]!.headers.authorization],
    ["/v1/completions", "Bearer sk-main-secret-0123456789"],
  );
  assert.is(response.headers.get("x-portico-channel"), "main");

  respond = (_, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    for (const text of ["Hel", "lo"])
      res.write(`data: ${JSON.stringify({ choices: [{ ...choice, text }] })}\n\n`);
    res.end("data: [DONE]\n\n");
  };
  let text = "";
  for await (const part of await client.completions.create({ ...request, stream: true }))
    text += part.choices[0]?.text;
  assert.is(text, "Hello");
});

test("an alias's params apply to text completions too, except those of chat alone", async () => {
  const sentFor = async (request: object) => {
    await client.completions.create({ model: "shaped", prompt: "x", ...request });
    const { model, prompt, ...rest } = bodyOf(requests.at(-1));
    assert.equal([model, prompt], ["gpt-x", "x"]);
    return rest;
  };
  assert.equal(await sentFor({ max_tokens: 100, n: 5, seed: 7, best_of: 3 }), {
    ...{ max_tokens: 10, n: 2, seed: 1, best_of: 3, temperature: 0.5 },
  });
  assert.equal(await sentFor({ max_tokens: 3, temperature: 1 }), {
    max_tokens: 3,
    temperature: 1,
    seed: 1,
  });
  assert.equal(await sentFor({}), { max_tokens: 10, temperature: 0.5, seed: 1 });
  respond = (request, res) =>
    request.path === "/v1/completions"
      ? json(res, { error: { message: "no" } }, 500)
      : json(res, { choices: [] });
  await client.completions.create({ model: "shaped", prompt: "x", max_tokens: 100 });
  const fim = bodyOf(requests.at(-1));
  assert.equal([fim["max_tokens"], fim["random_seed"], fim["model"]], [10, 1, "codestral"]);
});

test("images, moderations and rerank", async () => {
  respond = (_, res) => json(res, { created: 1, data: [{ b64_json: "AA==" }] });
  const image = await client.images.generate({ model: "main/dall-e-3", prompt: "a cat" });
  assert.is(image.data?.[0]?.b64_json, "AA==");
  respond = (_, res) => json(res, { id: "m", model: "x", results: [{ flagged: false }] });
  assert.is(
    (await client.moderations.create({ model: "main/mod", input: "hi" })).results[0]?.flagged,
    false,
  );
  respond = (_, res) => json(res, { results: [{ index: 1, relevance_score: 0.9 }] });
  const body = { model: "main/rerank-v3", query: "q", documents: ["a", "b"], top_n: 1 };
  const ranked = await gateway.json("POST", "/v1/rerank", body);
  assert.is(ranked.results[0].index, 1);
  assert.equal(bodyOf(requests[2]), { ...body, model: "rerank-v3" });
  // the path of Cohere's second interface
  assert.is((await gateway.json("POST", "/v2/rerank", body)).results[0].index, 1);
  assert.equal(
    requests.map((request) => request.path),
    ["/v1/images/generations", "/v1/moderations", "/v1/rerank", "/v1/rerank"],
  );
});

test("speech passes unchanged, in any length and type", async () => {
  const sound = randomBytes(3_000_000);
  respond = (_, res) => {
    res.writeHead(200, { "content-type": "audio/mpeg", "content-length": sound.length });
    res.end(sound);
  };
  const response = await client.audio.speech.create({
    model: "main/tts-1",
    voice: "alloy",
    input: "Hello",
  });
  assert.is(response.headers.get("content-type"), "audio/mpeg");
  assert.ok(Buffer.from(await response.arrayBuffer()).equals(sound));
});

test("transcriptions, translations and edits pass the file unchanged and the model under the upstream's name", async () => {
  for (const size of [0, 10, 200_000, 1_500_000]) {
    const sound = randomBytes(size);
    const file = await toFile(sound, "speech.mp3", { type: "audio/mpeg" });
    respond = (_, res) => json(res, { text: "said" });
    requests = [];
    const transcription = await client.audio.transcriptions.create({
      file,
      model: "hear",
      language: "en",
      prompt: "names",
    });
    assert.is(transcription.text, "said");
    await client.audio.translations.create({ file, model: "main/whisper-1" });
    await client.images.edit({ image: file, model: "main/gpt-image-1", prompt: "é 😀" });
    assert.equal(
      requests.map((request) => request.path),
      ["/v1/audio/transcriptions", "/v1/audio/translations", "/v1/images/edits"],
    );
    for (const request of requests) {
      assert.is(Number(request.headers["content-length"]), request.body.length);
      const form = await new Response(request.body, {
        headers: { "content-type": String(request.headers["content-type"]) },
      }).formData();
      assert.match(String(form.get("model")), /^(whisper-1|gpt-image-1)$/);
      const sent = (form.get("file") ?? form.get("image")) as File;
      assert.ok(Buffer.from(await sent.arrayBuffer()).equals(sound));
      if (request.path.endsWith("edits")) assert.is(form.get("prompt"), "é 😀");
    }
  }
});

test("a compressed upload arrives decompressed, and a broken one is refused", async () => {
  respond = (_, res) => json(res, { text: "said" });
  const form = new FormData();
  form.set("file", new Blob([Buffer.alloc(700_000, "sound")]), "a.mp3");
  form.set("model", "hear");
  const plain = new Response(form);
  const contentType = plain.headers.get("content-type")!;
  const bytes = Buffer.from(await plain.arrayBuffer());
  const send = (encoding: string, body: Buffer) =>
    fetch(`${gateway.url}/v1/audio/transcriptions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${gateway.token}`,
        "content-type": contentType,
        "content-encoding": encoding,
      },
      body,
    });
  for (const [encoding, compress] of [
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
  ] as const) {
    requests = [];
    const good = await send(encoding, compress(bytes));
    assert.is(good.status, 200, await good.text());
    assert.is(requests[0]!.headers["content-encoding"], undefined);
    const sent = await new Response(requests[0]!.body, {
      headers: { "content-type": String(requests[0]!.headers["content-type"]) },
    }).formData();
    assert.is((sent.get("file") as File).size, 700_000);
    assert.is((await send(encoding, bytes)).status, 400, `broken ${encoding}`);
    assert.is((await send(encoding, compress(bytes).subarray(0, -20))).status, 400);
  }
  assert.is((await send("compress", bytes)).status, 415);
});

test("errors are the upstream's, and a failed request is tried again with the whole file", async () => {
  respond = (_, res) =>
    json(res, { error: { message: "bad voice", param: "voice", code: "bad" } }, 400);
  const bad = await refusal(
    client.audio.speech.create({ model: "main/tts-1", voice: "x", input: "Hi" }),
  );
  assert.equal([bad.status, bad.code, bad.param], [400, "bad", "voice"]);
  const sound = randomBytes(400_000);
  requests = [];
  respond = (_, res) =>
    requests.length === 1 ? json(res, {}, 500) : json(res, { text: "second" });
  const file = await toFile(sound, "a.wav");
  assert.is((await client.audio.transcriptions.create({ file, model: "hear" })).text, "second");
  assert.ok(requests[0]!.body.equals(requests[1]!.body));
  respond = (_, res) => json(res, { error: { message: "in disguise" } });
  assert.is(
    (await refusal(client.moderations.create({ model: "main/m", input: "x" }))).status,
    502,
  );
});

test("a stream whose first event is an error is tried again, or becomes an HTTP error", async () => {
  const begin = (res: ServerResponse) =>
    res.writeHead(200, { "content-type": "text/event-stream" });
  const failing = 'data: {"error":{"message":"busy","code":503}}\n\n';
  const good =
    'data: {"choices":[{"index":0,"text":"Hi","finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
  // Each a model of its own, or it would cool down.
  let models = 0;
  const ask = (route: string, more: object) =>
    gateway.request("POST", `/v1/${route}`, {
      model: `main/begins-${models++}`,
      stream: true,
      ...more,
    });
  for (const [route, more] of [
    ["completions", { prompt: "x" }],
    ["audio/speech", { input: "x", voice: "v", stream_format: "sse" }],
    ["images/generations", { prompt: "x" }],
  ] as const) {
    requests = [];
    respond = (_, res) => begin(res).end(requests.length === 1 ? failing : good);
    assert.is(await (await ask(route, more)).text(), good);
    assert.is(requests.length, 2);
    // It does not end behind its error, and stands there in pieces.
    respond = (_, res) => {
      begin(res);
      for (const byte of `: wait\n\n${failing}`) res.write(byte);
    };
    const refused = await ask(route, more);
    assert.equal([refused.status, await messageOf(refused)], [503, "busy"]);
    respond = (_, res) => begin(res).end();
    assert.is((await ask(route, more)).status, 502);
  }
  respond = (_, res) => begin(res).write(good, () => setImmediate(() => res.destroy()));
  assert.is(await (await ask("completions", { prompt: "x" })).text(), good);
});

const messageOf = async (response: Response) =>
  ((await response.json()) as { error: { message: string } }).error.message;

test("keys and their limits apply to these routes too", async () => {
  const ask = (token: string, model: string) =>
    gateway.request("POST", "/v1/moderations", { model, input: "x" }, { token });
  assert.is((await ask("pk_ears", "main/mod")).status, 403);
  assert.is((await ask("pk_nobody", "main/mod")).status, 401);
  assert.equal(
    [(await ask("pk_once", "main/mod")).status, (await ask("pk_once", "main/mod")).status],
    [200, 429],
  );
  const form = new FormData();
  form.set("file", new Blob(["x"]), "a.mp3");
  form.set("model", "main/whisper-1");
  const upload = { method: "POST", body: form, headers: { authorization: "Bearer pk_ears" } };
  assert.is((await fetch(`${gateway.url}/v1/audio/transcriptions`, upload)).status, 403);
  form.set("model", "hear");
  assert.is((await fetch(`${gateway.url}/v1/audio/transcriptions`, upload)).status, 200);
});

test("hooks see a key's request in a session of the key's own", async () => {
  const body = { model: "main/mod", input: "which session" };
  const headers = { "x-portico-session": "main" };
  const named = async (token: string) => {
    const response = await gateway.request("POST", "/v1/moderations", body, { token, headers });
    return ((await response.json()) as { error: { message: string } }).error.message;
  };
  assert.equal([await named("pk_any"), await named(gateway.token)], ["key:any:main", "main"]);
});

test("the error of a channel without the route names a channel that has it; an alias continues with the next target", async () => {
  for (const model of ["claude-x", "echo"]) {
    const error = await refusal(client.audio.speech.create({ model, voice: "x", input: "Hi" }));
    assert.equal([error.status, error.code], [400, "unsupported_endpoint"]);
    assert.match(error.message, /`.*\/v1\/audio\/speech.*: main/);
  }
  const { response } = await client.completions
    .create({ model: "both", prompt: "x" })
    .withResponse();
  assert.is(response.headers.get("x-portico-channel"), "main");
  assert.is(
    (await refusal(client.completions.create({ model: "nobody/x", prompt: "x" }))).status,
    404,
  );
});

test("Mistral's fill-in-the-middle and moderations are translated", async () => {
  respond = (_, res) => {
    const message = { role: "assistant", content: "x + 1" };
    json(res, {
      id: "f",
      model: "codestral",
      choices: [{ index: 0, message, finish_reason: "stop" }],
      usage: { prompt_tokens: 1 },
    });
  };
  const filled = await client.completions.create({
    model: "code",
    prompt: "return ",
    suffix: ";",
    max_tokens: 9,
    seed: 1,
  });
  assert.equal([filled.object, filled.choices[0]?.text], ["text_completion", "x + 1"]);
  assert.is(requests[0]!.path, "/v1/fim/completions");
  assert.equal(bodyOf(requests[0]), {
    model: "codestral",
    prompt: "return ",
    suffix: ";",
    max_tokens: 9,
    random_seed: 1,
  });
  respond = (_, res) =>
    json(res, { results: [{ categories: { hate: false, health: true } }, { categories: {} }] });
  const { results } = await client.moderations.create({ model: "code", input: ["a", "b"] });
  assert.equal(
    results.map((moderation) => moderation.flagged),
    [true, false],
  );
  requests = [];
  for (const [more, param] of [
    [{ prompt: "a", n: 2 }, "n"],
    [{ prompt: "a", n: 2, stream: true }, "n"],
    [{ prompt: "a", echo: true }, "echo"],
    [{ prompt: ["a", "b"] }, "prompt"],
    [{ prompt: [1, 2] }, "prompt"],
    [{}, "prompt"],
  ] as const) {
    const refused = await gateway.request("POST", "/v1/completions", { model: "code", ...more });
    const { error } = (await refused.json()) as { error: { param: string } };
    assert.equal([refused.status, error.param], [400, param], JSON.stringify(more));
  }
  assert.is(requests.length, 0);
  respond = (_, res) => json(res, { choices: [{ message: { content: "b" } }] });
  await gateway.request("POST", "/v1/completions", {
    model: "code",
    prompt: ["a"],
    n: 1,
    echo: false,
  });
  assert.equal(bodyOf(requests[0]), { model: "codestral", prompt: "a" });
});

test("Mistral's fill-in-the-middle is streamed as OpenAI's completions", async () => {
  const chunk = (members: object) =>
    `data: ${JSON.stringify({ id: "f", model: "codestral", ...members })}\n\n`;
  const choice = (content: string | undefined, finish_reason: string | null = null) =>
    chunk({
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta: { content }, finish_reason }],
    });
  const events = (...parts: string[]) => {
    respond = (_, res) =>
      res.writeHead(200, { "content-type": "text/event-stream" }).end(parts.join(""));
  };
  const request = { model: "code", prompt: "return ", suffix: ";", stream: true } as const;
  const usage = { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 };
  const last = chunk({
    choices: [{ index: 0, delta: { content: "1" }, finish_reason: "length" }],
    usage,
  });
  events(choice(""), choice("x +"), choice(" "), last, "data: [DONE]\n\n");
  for (const streamOptions of [undefined, { include_usage: true }]) {
    const parts = [];
    for await (const part of await client.completions.create({
      ...request,
      stream_options: streamOptions,
    }))
      parts.push(part);
    assert.is(parts.map((part) => part.choices[0]?.text ?? "").join(""), "x + 1");
    assert.equal([...new Set(parts.map((part) => `${part.object} ${part.id}`))].length, 1);
    assert.is(parts[0]!.object, "text_completion");
    assert.equal(
      parts.flatMap((part) => part.choices[0]?.finish_reason ?? []),
      ["length"],
    );
    assert.equal(parts.at(-1)!.usage ?? undefined, streamOptions && usage);
  }
  assert.equal(bodyOf(requests[0]), {
    model: "codestral",
    prompt: "return ",
    suffix: ";",
    stream: true,
  });

  const text = async () => (await gateway.request("POST", "/v1/completions", request)).text();
  events(choice("a"));
  assert.match(await text(), /"text":"a".*"finish_reason":"stop".*\n\ndata: \[DONE\]\n\n$/s);
  events(choice("a"), chunk({ object: "error", message: "burnt out", type: "server_error" }));
  assert.match(await text(), /"text":"a".*burnt out/s);
  const failed = async () => {
    const response = await gateway.request("POST", "/v1/completions", request);
    assert.is(response.status, 502);
    return response.text();
  };
  for (const body of ["data: nonsense\n\n", "data: [DONE]\n\n", choice("", "error")]) {
    events(body);
    await failed();
  }
  respond = (_, res) => json(res, { object: "error", message: "too hot" });
  assert.match(await failed(), /too hot/);
  respond = (_, res) =>
    json(res, { choices: [{ index: 0, message: { content: "whole" }, finish_reason: "stop" }] });
  assert.match(await failed(), /did not stream/);
});

test("invalid requests receive 400 with the position, and too large a file receives 413", async () => {
  const post = (path: string, body: string, type: string) =>
    fetch(gateway.url + path, {
      method: "POST",
      body,
      headers: { authorization: `Bearer ${gateway.token}`, "content-type": type },
    });
  const rows: [string, string, string, number, string | null][] = [
    ["/v1/completions", "{}", "application/json", 400, "model"],
    [
      "/v1/completions",
      '{"model":"main/x","Model":"y","prompt":"a"}',
      "application/json",
      400,
      "Model",
    ],
    ["/v1/completions", "nonsense", "application/json", 400, null],
    ["/v1/audio/transcriptions", "{}", "application/json", 415, null],
    ["/v1/audio/transcriptions", "--b\r\n", "multipart/form-data; boundary=b", 400, null],
    ["/v1/audio/transcriptions", "--b--\r\n", "multipart/form-data; boundary=b", 400, "model"],
    [
      "/v1/audio/transcriptions",
      `--b\r\n${"x".repeat(20_000)}`,
      "multipart/form-data; boundary=b",
      400,
      null,
    ],
    [
      "/v1/audio/transcriptions",
      '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\na\r\n--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nb\r\n--b--',
      "multipart/form-data; boundary=b",
      400,
      "model",
    ],
  ];
  for (const [path, body, type, status, param] of rows) {
    const response = await post(path, body, type);
    const { error } = (await response.json()) as { error: { param: string | null } };
    assert.equal([response.status, error.param], [status, param], body.slice(0, 60));
  }
});

test("a body may be split anywhere", async () => {
  const value = (name: string, text: string) =>
    `--b-\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`;
  const file =
    '--b-\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n\r\n--b\r\n--c-\x00\r\n';
  const body = Buffer.from(
    `preamble\r\n${file}${value("empty", "")}${value("model", "main/whisper-1")}--b---\r\nepilogue`,
  );
  for (const size of [1, 2, 3, 7, body.length]) {
    async function* pieces() {
      for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size);
    }
    const response = await fetch(`${gateway.url}/v1/audio/translations`, {
      method: "POST",
      duplex: "half",
      body: pieces(),
      headers: {
        authorization: `Bearer ${gateway.token}`,
        "content-type": 'multipart/form-data; boundary="b-"',
      },
    } as RequestInit);
    assert.is(response.status, 200, `${size}: ${await response.text()}`);
    assert.is(String(requests.at(-1)!.body), String(body).replace("main/whisper-1", "whisper-1"));
  }
});

test("hooks see, change and refuse requests and responses here too", async () => {
  const blocked = await refusal(
    client.moderations.create({ model: "main/m", input: ["a", "forbidden"] }),
  );
  assert.equal([blocked.status, blocked.code], [403, "blocked_by_hook"]);
  await client.images.generate({ model: "main/i", prompt: "a secret cat" });
  assert.is(bodyOf(requests.at(-1)).prompt, "a ****** cat");
  const image = await toFile(randomBytes(9), "a.png");
  await client.images.edit({ image, model: "main/i", prompt: "a secret cat" });
  assert.match(String(requests.at(-1)!.body), "a ****** cat");
  const reply = await client.completions.create({ model: "main/m", prompt: "answer me" });
  assert.is(reply.choices[0]?.text, "by a hook");
  const unsaid = await refusal(
    client.audio.speech.create({ model: "main/m", voice: "x", input: "answer me" }),
  );
  assert.is(unsaid.code, "blocked_by_hook");
});

test("a list of models is tried in order, as far as the key may use them", async () => {
  const ask = (body: object) =>
    client.completions.create({ prompt: "x", ...body } as never).withResponse();
  const { response } = await ask({ models: ["claude-x", "main/gpt-x"] });
  assert.is(response.headers.get("x-portico-model"), "gpt-x");
  assert.equal(bodyOf(requests.at(-1)), { prompt: "x", model: "gpt-x" });
});

test("a secret that the upstream echoes is hidden, in JSON, in text and in events", async () => {
  const bodies: [string, string][] = [
    ["application/json", '{"text":"it is sk-main-secret-0123456789"}'],
    ["text/plain", "it is sk-main-secret-0123456789"],
    [
      "text/event-stream",
      'data: {"choices":[{"text":"it is sk-main-secret-0123456789"}]}\n\ndata: [DONE]\n\n',
    ],
  ];
  for (const [type, body] of bodies) {
    respond = (_, res) =>
      res.writeHead(200, { "content-type": type, "content-length": body.length }).end(body);
    const response = await gateway.request("POST", "/v1/completions", {
      model: "main/x",
      prompt: "x",
    });
    const text = await response.text();
    assert.not.match(text, "sk-main-secret");
    assert.match(text, "it is ");
  }
});

test("usage is counted for images and transcriptions too", async () => {
  respond = (_, res) =>
    json(res, { data: [], usage: { input_tokens: 11, output_tokens: 7, total_tokens: 18 } });
  await client.images.generate({ model: "main/counted", prompt: "a" });
  const { rows } = await gateway.json("GET", "/usage?model=counted&by=model");
  assert.equal([rows[0].promptTokens, rows[0].completionTokens], [11, 7]);
});

test.run();
