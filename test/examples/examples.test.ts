import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { suite } from "../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, makeHome, packageDir, startGateway } from "../support/gateway.ts";
import { until, withinOneDay } from "../support/until.ts";
import {
  chunk,
  completion,
  contentOf,
  DONE,
  json,
  startUpstream,
  stream,
} from "../support/upstreams/upstream.ts";

const test = suite("examples");
const run = promisify(execFile);
let gateway: InProcessGateway;
test.after.each(() => gateway?.stop());

/** A home with these examples in it. */
function homeWith(...examples: string[]): string {
  const home = makeHome();
  for (const example of examples) {
    mkdirSync(join(home, example, ".."), { recursive: true, mode: 0o700 });
    cpSync(join(packageDir, "examples", example), join(home, example), { recursive: true });
  }
  return home;
}

async function ask(content: string, model = "echo"): Promise<string> {
  const completion = await gateway.json("POST", "/v1/chat/completions", {
    model,
    messages: [{ role: "user", content }],
  });
  return completion.choices[0].message.content;
}

test("polite rewrites what the user said", async () => {
  gateway = await startGateway({ home: homeWith("hooks/polite"), config: {} });
  assert.is(await ask("Hello"), "Hello\n\nPlease answer briefly and kindly.");
});

test("faq answers by itself, reads its neighbour, and lets other questions pass", async () => {
  gateway = await startGateway({ home: homeWith("hooks/faq"), config: {} });
  assert.is(
    await ask("What are your opening hours?"),
    "We are open from 9 to 17, Monday to Friday.",
  );
  assert.is(await ask("Who are you?"), "Who are you?");
  gateway.write(
    "hooks/faq/answers.ts",
    `export const answers = [{ words: ["who"], answer: "I am the list." }];`,
  );
  await until("the new answer", async () => (await ask("Who are you?")) === "I am the list.");
});

test("alerts posts what fails to a chat, and the same only once in a while", async () => {
  const chat = await startUpstream((_, res) => json(res, {}));
  const away = { provider: "openai", baseUrl: "http://127.0.0.1:9/v1", apiKey: "k", maxRetries: 0 };
  gateway = await startGateway({
    home: homeWith("hooks/alerts"),
    config: {
      channels: { away: { ...away, models: ["m"] } },
      hooks: { entries: { alerts: { url: `${chat.url}/hook` } } },
    },
  });
  const { bus } = gateway.gateway;
  const texts = () => chat.seen.map(({ body }) => String(body["text"]));
  for (let i = 0; i < 3; i++)
    await gateway.request("POST", "/v1/chat/completions", {
      model: "away/m",
      messages: [{ role: "user", content: "hi" }],
    });
  await until("the channel", async () => texts().some((text) => /away \(m\) rests/.test(text)));
  const failing = ["cron:failed", "poll:failed", "delivery:failed", "agent:failed"] as const;
  for (const name of [...failing, ...failing]) {
    const sample = bus.spec(name)!.sample as any;
    await bus.emit(name, { ...sample, willRetry: false });
  }
  await bus.drain();
  const all = texts().slice(1);
  assert.is(all.length, 4);
  // The handlers post at the same time, so the texts come in any order.
  for (const word of ["job", "poll", "delivered", "turn"])
    assert.ok(
      all.some((text) => text.includes(word)),
      `${word} in ${JSON.stringify(all)}`,
    );
  await chat.close();
});

test("house-rules reach the model in the agent's prompt", async () => {
  const upstream = await startUpstream((_, res) => json(res, completion("noted")));
  gateway = await startGateway({
    home: homeWith("hooks/house-rules"),
    config: {
      channels: { main: { provider: "openai", baseUrl: upstream.url, apiKey: "k", models: ["m"] } },
      agents: { defaults: { model: "main/m" } },
    },
  });
  const today = await withinOneDay();
  const turn = await gateway.json("POST", "/agent", { message: "Anything new?", wait: true });
  assert.is(turn.result, "noted");
  const upstreamBodies = upstream.seen.map(({ raw }) => raw).join();
  assert.match(upstreamBodies, /Never send mail without asking first/);
  assert.match(upstreamBodies, `Today is ${today}`);
  await upstream.close();
});

test("topics are answered by the hook, other questions by the model", async () => {
  gateway = await startGateway({ home: homeWith("hooks/topics"), config: {} });
  assert.is(await ask("Religion, please?"), "I do not talk about religion here.");
  assert.is(await ask("Hello"), "Hello");
});

test("redact removes addresses, card numbers and keys from answers and streams, wherever a stream is cut", async () => {
  const secret =
    "Ask ada@example.org, pay with 4111 1111 1111 1111 or take sk-abcdefghij0123456789.";
  const upstream = await startUpstream((request, res) =>
    request.body.stream
      ? stream(res, ...Array.from(secret, (content) => chunk({ content })), chunk({}, "stop"), DONE)
      : json(res, completion(secret)),
  );
  gateway = await startGateway({
    home: homeWith("hooks/redact"),
    config: {
      channels: { main: { provider: "openai", baseUrl: upstream.url, apiKey: "k", models: ["m"] } },
    },
  });
  const expected = "Ask [e-mail], pay with [card] or take [key].";
  const streamed = async () => {
    const messages = [{ role: "user", content: "x" }];
    const body = { model: "main/m", stream: true, messages };
    return contentOf(await (await gateway.request("POST", "/v1/chat/completions", body)).text());
  };
  assert.is(await ask("x", "main/m"), expected);
  assert.is(await streamed(), expected);
  gateway.write("hooks/redact/HOOK.md", "---\nevents: [message:streaming]\n---\n");
  await gateway.json("POST", "/kernel/hooks/rescan");
  assert.is(await streamed(), expected);
  await upstream.close();
});

test("policy asks a model first, and lets nothing pass without its word", async () => {
  const upstream = await startUpstream((request, res) => {
    const [first, last] = [request.body.messages[0], request.body.messages.at(-1)].map(
      ({ content }) => String(content),
    );
    if (!first!.startsWith("You judge")) return json(res, completion("the answer"));
    if (/bomb/.test(last!)) return json(res, completion("REFUSE"));
    if (/riddle/.test(last!)) return json(res, completion("Hm."));
    return json(res, completion("ALLOW"));
  });
  gateway = await startGateway({
    home: homeWith("hooks/policy"),
    config: {
      channels: { main: { provider: "openai", baseUrl: upstream.url, apiKey: "k", models: ["m"] } },
      hooks: { entries: { policy: { model: "main/m" } } },
    },
  });
  const status = async (content: string) => {
    const body = { model: "main/m", messages: [{ role: "user", content }] };
    return (await gateway.request("POST", "/v1/chat/completions", body)).status;
  };
  assert.is(await ask("Hello", "main/m"), "the answer");
  assert.is(await status("A bomb, please"), 403);
  assert.is(await status("A riddle, please"), 503);
  await upstream.close();
});

test("dice-provider answers, streams, and refuses a die it does not have", async () => {
  gateway = await startGateway({
    home: homeWith("plugins/dice-provider"),
    config: { dice: { maxSides: 20 } },
  });
  assert.match(await ask("luck", "dice/d6"), /^[1-6] for "luck"$/);
  const refused = await gateway.request("POST", "/v1/chat/completions", {
    model: "dice/d21",
    messages: [{ role: "user", content: "x" }],
  });
  assert.is(refused.status, 404);
  const streamed = await gateway.request("POST", "/v1/chat/completions", {
    model: "dice/d20",
    stream: true,
    messages: [{ role: "user", content: "x" }],
  });
  assert.match(await streamed.text(), /data: \[DONE\]/);
});

test("openai-client chats, streams and calls a tool", async () => {
  gateway = await startGateway();
  const { stdout } = await run(
    process.execPath,
    ["--import", "tsx", join(packageDir, "examples/openai-client.ts")],
    {
      cwd: packageDir,
      env: { ...process.env, PORTICO_URL: gateway.url, PORTICO_TOKEN: gateway.token },
    },
  );
  assert.is(
    stdout,
    'answer: Hello, Portico\nstream: one| two| three\ntool: get_weather {"city":""}\n',
  );
});

test("webhook-github: a signed issue becomes a fenced turn, once; a wrong signature and a bot do not", async () => {
  const home = homeWith("webhook-github/portico.json5", "webhook-github/github-issue.ts");
  mkdirSync(join(home, "transforms"));
  cpSync(join(home, "webhook-github/github-issue.ts"), join(home, "transforms/github-issue.ts"));
  const example = readFileSync(join(home, "webhook-github/portico.json5"), "utf8");
  writeFileSync(join(home, "portico.json"), example.replace("{", "{ gateway: { port: 0 },"));
  gateway = await startGateway({
    home,
    env: { GITHUB_WEBHOOK_SECRET: "It's a Secret to Everybody" },
  });
  const send = async (env: Record<string, string>) => {
    const script = join(packageDir, "examples/webhook-github/send.ts");
    const { stdout } = await run(process.execPath, ["--import", "tsx", script], {
      cwd: packageDir,
      env: {
        ...process.env,
        PORTICO_URL: gateway.url,
        GITHUB_WEBHOOK_SECRET: "It's a Secret to Everybody",
        ...env,
      },
    });
    return stdout.trim();
  };
  const first = await send({ DELIVERY_ID: "one" });
  assert.match(first, /^200 .*"sessionId":"webhook:issue:portico:7"/);
  assert.is(await send({ DELIVERY_ID: "one" }), first);
  assert.match(await send({ GITHUB_WEBHOOK_SECRET: "wrong" }), /^401 /);
  assert.match(await send({ SENDER_TYPE: "Bot" }), /^204/);
  const session = await until("the turn", async () => {
    const response = await gateway.request(
      "GET",
      `/sessions/${encodeURIComponent("webhook:issue:portico:7")}`,
    );
    return response.ok ? await response.text() : "";
  });
  assert.match(session, /decide who should look at it/);
  assert.match(session, /UNTRUSTED[\s\S]*The door squeaks/);
});

test.run();
