/**
 * The files that `portico plugins new NAME --kind provider` writes: the provider, a stand-in server that responds until
 * there is a real one, and a test that runs by itself.
 */
import { join } from "node:path";
import type { PluginTemplate } from "portico/command-line";

const template: PluginTemplate = {
  files: (name, packageDir) => ({
    "plugin.ts": pluginText(name),
    "stand-in.ts": standInText(name),
    "plugin.test.mjs": testText(name, join(packageDir, ".build/portico.cjs")),
  }),
  tryIt: (name) =>
    [
      `Try it: portico channels test ${name}, or ask for the model ${name}/anything.`,
      `The file stand-in.ts responds to requests until you change plugin.ts to your server's address and format.`,
      `\`node --test plugin.test.mjs\` in the plugin's folder runs its test.`,
    ].join("\n"),
};
export default template;

function pluginText(name: string): string {
  return `/**
 * ${name}: chat models of a server with its own format. \`POST /generate {model, prompt, stream, temperature}\` returns
 * \`{text, finish, tokens: {in, out}}\`, or a stream of events \`{text}\` whose last one has \`finish\` and \`tokens\`; errors
 * are \`{error}\` with a status. Change this to your server's format: the gateway sends, retries, cancels and counts.
 */
import { definePlugin } from "portico";
import {
  bearerHeaders, completionFrom, decodeJsonStream, kindOfStatus, parseObject, postJson, readConversation, readFields,
  textOf, tokenUsage, upstreamError, type WireProvider,
} from "portico/provider";
import { startStandIn } from "./stand-in.ts";

interface ServerReply {
  text?: string;
  finish?: "stop" | "length";
  tokens?: { in: number; out: number };
  error?: string;
}

const usageOf = ({ tokens }: ServerReply) => tokens && tokenUsage({ prompt: tokens.in, completion: tokens.out });

const wire: WireProvider = {
  encode(request, target) {
    const fields = readFields(request); // x-portico-dropped names the fields that nothing reads
    const { turns } = readConversation(request.messages);
    const prompt = turns.map((turn) => \`\${turn.role}: \${textOf("parts" in turn ? turn.parts : [])}\`).join("\\n");
    const body = { model: target.model, prompt, stream: request.stream === true, temperature: fields.number("temperature") };
    return postJson(\`\${target.baseUrl}/generate\`, bearerHeaders(target), body, { fields });
  },
  decode(body, _sent, target) {
    const reply: ServerReply = parseObject(body) ?? {};
    if (reply.error !== undefined) throw upstreamError({ kind: "upstream", message: reply.error }, 200);
    const message = { role: "assistant", content: reply.text ?? "" };
    return completionFrom(target, { choices: [{ message, finish: reply.finish ?? "stop" }], usage: usageOf(reply) });
  },
  parts: (_sent, target) =>
    decodeJsonStream<ServerReply>(target, {
      form: "events", // or "lines"
      read(event, out) {
        if (event.error !== undefined) throw upstreamError({ kind: "upstream", message: event.error }, 0);
        if (event.text) out.text(event.text);
        const usage = usageOf(event);
        if (usage) out.tell(usage);
        if (event.finish) out.finish(event.finish);
      },
    }),
  error(status, _headers, body) {
    const { error }: ServerReply = parseObject(body) ?? {};
    return { kind: kindOfStatus(status), message: error ?? \`The server responded with status \${status}.\` };
  },
};

export default definePlugin({
  name: "${name}",
  description: "Chat models of ${name}",
  // The names that setup adds: commands check the configuration against them without running the plugin.
  names: { provider: ["${name}"], builtinChannel: ["${name}"] },
  async setup(ctx) {
    // The built-in channel needs no configuration. Other channels name this provider, with a baseUrl and a key.
    const defaultBaseUrl = await startStandIn(ctx); // your server's address: "https://api.example.com"
    ctx.add("provider", { name: "${name}", builtinChannel: "${name}", defaultBaseUrl, wire });
  },
});
`;
}

function standInText(name: string): string {
  return `/** A stand-in server with ${name}'s format, which echoes the last message. Remove it when plugin.ts has the address of yours. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { PluginContext } from "portico";
import { parseObject } from "portico/provider";

export async function startStandIn(ctx: PluginContext): Promise<string> {
  const server = createServer((req, res) => {
    const parts: Buffer[] = [];
    req.on("data", (part) => parts.push(part));
    req.on("end", () => {
      const { prompt = "", stream }: { prompt?: string; stream?: boolean } = parseObject(Buffer.concat(parts)) ?? {};
      if (req.url !== "/generate") return res.writeHead(404).end();
      const text = \`You said: \${prompt.slice(prompt.lastIndexOf("user: ") + 6)}\`;
      const end = { finish: "stop", tokens: { in: prompt.length, out: text.length } };
      if (!stream) return res.end(JSON.stringify({ text, ...end }));
      res.setHeader("content-type", "text/event-stream");
      const events = [...text.split(/(?= )/).map((word) => ({ text: word })), end];
      return res.end(events.map((event) => \`data: \${JSON.stringify(event)}\\n\\n\`).join(""));
    });
  });
  ctx.defer(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  return \`http://127.0.0.1:\${(server.address() as AddressInfo).port}\`;
}
`;
}

function testText(name: string, program: string): string {
  return `/** Tests ${name} in a separate gateway, with a stand-in server: \`node --test plugin.test.mjs\`. */
// @ts-nocheck
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

const program = process.env.PORTICO_PROGRAM ?? ${JSON.stringify(program)};
const home = mkdtempSync(join(tmpdir(), "${name}-test-"));
let upstream, gateway, url, respond;
const requests = [];

before(async () => {
  upstream = createServer(async (req, res) => {
    let body = "";
    for await (const part of req) body += part;
    if (body === "") return res.writeHead(404).end();
    requests.push({ key: req.headers.authorization, ...JSON.parse(body) });
    respond(res);
  });
  await once(upstream.listen(0, "127.0.0.1"), "listening");
  cpSync(import.meta.dirname, join(home, "plugins", "${name}"), { recursive: true });
  const baseUrl = \`http://127.0.0.1:\${upstream.address().port}\`;
  const channels = { mine: { provider: "${name}", baseUrl, apiKey: "my-key", models: ["m"], maxRetries: 0 } };
  const config = { gateway: { port: 0, auth: { token: "test-token" } }, channels };
  writeFileSync(join(home, "portico.json"), JSON.stringify(config), { mode: 0o600 });
  gateway = spawn(process.execPath, [program, "start", "--home", home], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  gateway.stdout.on("data", (part) => (output += part));
  while (!(url = /Base URL\\s+(\\S+)/.exec(output)?.[1])) {
    await Promise.race([once(gateway.stdout, "data"), once(gateway, "exit")]);
    assert.equal(gateway.exitCode, null, output);
  }
});
after(async () => {
  gateway?.kill();
  if (gateway?.exitCode === null) await once(gateway, "exit");
  upstream?.close();
  rmSync(home, { recursive: true, force: true });
});

const chat = (members) =>
  fetch(\`\${url}/chat/completions\`, {
    method: "POST",
    headers: { authorization: "Bearer test-token", "content-type": "application/json" },
    body: JSON.stringify({ model: "mine/m", messages: [{ role: "user", content: "hi" }], ...members }),
  });
const json = (status, body) => (respond = (res) => res.writeHead(status).end(JSON.stringify(body)));

test("a response comes whole, with its usage", async () => {
  json(200, { text: "Hello", finish: "length", tokens: { in: 3, out: 1 } });
  const response = await chat({ temperature: 0.5, seed: 1 });
  const { choices, usage } = await response.json();
  assert.equal(choices[0].message.content, "Hello");
  assert.equal(choices[0].finish_reason, "length");
  assert.equal(usage.total_tokens, 4);
  assert.equal(response.headers.get("x-portico-dropped"), "seed");
  assert.deepEqual(requests.at(-1), { key: "Bearer my-key", model: "m", prompt: "user: hi", stream: false, temperature: 0.5 });
});

test("a stream flows", async () => {
  const events = [{ text: "Hel" }, { text: "lo" }, { finish: "stop", tokens: { in: 3, out: 2 } }];
  respond = (res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.end(events.map((event) => \`data: \${JSON.stringify(event)}\\n\\n\`).join(""));
  };
  const text = await (await chat({ stream: true })).text();
  assert.equal([...text.matchAll(/"content":"(\\w+)"/g)].map(([, word]) => word).join(""), "Hello");
  assert.match(text, /"finish_reason":"stop"[\\s\\S]*data: \\[DONE\\]\\n\\n$/);
});

test("errors reach the client as what they are", async () => {
  json(400, { error: "no such model" });
  const refused = await chat();
  assert.equal(refused.status, 400);
  assert.match((await refused.json()).error.message, /no such model/);
  json(500, { error: "broken" });
  assert.equal((await chat()).status, 502);
});
`;
}
