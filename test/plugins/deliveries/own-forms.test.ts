/** Deliveries in the receiver's own form: Slack, Teams, Discord, a comment on GitHub. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
}

/** Refuses what the real receivers refuse; the reason is the response's body. */
function problemOf(path: string, headers: IncomingHttpHeaders, text: string): string | undefined {
  if (path.startsWith("/text")) return undefined;
  if (!headers["content-type"]?.startsWith("application/json")) return "no JSON type";
  const body = JSON.parse(text);
  if (path.startsWith("/slack")) return typeof body.text === "string" ? undefined : "no_text";
  if (path.startsWith("/discord")) return body.content ? undefined : "Cannot send an empty message";
  if (path.startsWith("/teams"))
    return body.attachments?.[0]?.content?.type === "AdaptiveCard" ? undefined : "no card";
  if (!path.startsWith("/repos/acme/app/issues/7/comments")) return "Not Found";
  if (!headers["user-agent"]) return "no user agent";
  if (headers.authorization !== "Bearer gh-token") return "Bad credentials";
  return typeof body.body === "string" ? undefined : "Validation Failed";
}

const test = suite("deliveries in the format of a receiver");
const received: Received[] = [];
const refusals: string[] = [];
const receiver = createServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on("data", (chunk: Buffer) => chunks.push(chunk));
  req.on("end", () => {
    const text = Buffer.concat(chunks).toString("utf8");
    const path = req.url ?? "";
    const problem = problemOf(path, req.headers, text);
    if (problem !== undefined) {
      refusals.push(`${path}: ${problem}`);
      return void res.writeHead(400).end(problem);
    }
    received.push({ path, headers: req.headers, text });
    res.end("ok");
  });
});
let gateway: InProcessGateway;
let url = "";

test.before(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const message = "Answer {body.issue.title}";
  const adaptiveCard = {
    type: "AdaptiveCard",
    version: "1.4",
    body: [{ type: "TextBlock", text: "{result}", wrap: true }],
  };
  const card = { contentType: "application/vnd.microsoft.card.adaptive", content: adaptiveCard };
  gateway = await startGateway({
    config: {
      agents: { defaults: { model: "echo", heartbeat: { every: "0" } } },
      webhooks: {
        token: "hook-token",
        mappings: {
          slack: {
            message,
            delivery: { url: `${url}/slack`, body: { text: "*{body.issue.title}*: {result}" } },
          },
          slackText: {
            message,
            delivery: { url: `${url}/slack-text`, body: '{"text": {json result}}' },
          },
          discord: { message, delivery: { url: `${url}/discord`, body: { content: "{result}" } } },
          teams: {
            message,
            delivery: { url: `${url}/teams`, body: { type: "message", attachments: [card] } },
          },
          github: {
            message,
            delivery: {
              url: `${url}/repos/acme/app/issues/{body.issue.number}/comments`,
              headers: { authorization: "Bearer gh-token", "x-title": "{body.issue.title}" },
              body: { body: "{result}\n\n({status}, {turnId})" },
            },
          },
          text: {
            message,
            delivery: {
              url: `${url}/text/{body.issue.title}`,
              headers: { "content-type": "text/markdown" },
              body: "# {session}\n{unknown} {result}",
            },
          },
        },
      },
    },
  });
});
test.after(async () => {
  await gateway.stop();
  receiver.close();
});

const title = 'A "quoted" bug\r\nx-evil: 1 / ?';
async function deliveryOf(mapping: string, path: string): Promise<Received> {
  const response = await fetch(`${gateway.url}/hooks/${mapping}`, {
    method: "POST",
    headers: { authorization: "Bearer hook-token", "content-type": "application/json" },
    body: JSON.stringify({ issue: { number: 7, title } }),
  });
  assert.is(response.status, 200);
  const arrived = () => received.find((delivery) => delivery.path.startsWith(path));
  return until(`a delivery at ${path} (${refusals.join("; ")})`, arrived, 20_000);
}

test("Slack receives its format, for JSON and for a text that contains JSON", async () => {
  const json = JSON.parse((await deliveryOf("slack", "/slack")).text);
  assert.ok(json.text.startsWith(`*${title}*: `));
  const text = JSON.parse((await deliveryOf("slackText", "/slack-text")).text);
  assert.match(text.text, 'A "quoted" bug');
});

test("Discord and Teams receive their formats", async () => {
  const discord = JSON.parse((await deliveryOf("discord", "/discord")).text);
  assert.match(discord.content, "quoted");
  const teams = JSON.parse((await deliveryOf("teams", "/teams")).text);
  assert.match(teams.attachments[0].content.body[0].text, "quoted");
});

test("a delivery can be a comment on the issue that the event names", async () => {
  const { path, headers, text } = await deliveryOf("github", "/repos");
  assert.is(path, "/repos/acme/app/issues/7/comments");
  assert.is(headers["x-title"], 'A "quoted" bug x-evil: 1 / ?');
  assert.is(headers["x-evil"], undefined);
  assert.match(JSON.parse(text).body, /quoted[\s\S]*\(completed, turn_\w+\)/);
});

test("a text is sent unchanged, and values cannot leave their place in the address", async () => {
  const { path, headers, text } = await deliveryOf("text", "/text");
  assert.is(path, `/text/${encodeURIComponent(title)}`);
  assert.is(headers["content-type"], "text/markdown");
  assert.match(text, /^# webhook:\S+\n\{unknown\} /);
});

test("the configuration refuses a placeholder in the host, and an unknown placeholder", async () => {
  const set = (delivery: object) =>
    gateway.gateway.config.set(["webhooks", "mappings", "bad"], { message: "x", delivery }).then(
      () => "",
      (error: Error) => error.message,
    );
  assert.match(await set({ url: "https://{body.host}/x" }), "not in its host");
  assert.match(await set({ url: "https://a.example/x", body: "{bdy.id}" }), "{bdy.id}");
});

test("the settings of deliveries hold for every delivery", async () => {
  const ask = async () => {
    const response = await fetch(`${gateway.url}/hooks/agent`, {
      method: "POST",
      headers: { authorization: "Bearer hook-token", "content-type": "application/json" },
      body: JSON.stringify({ message: "hi", delivery: { url: `${url}/text/agent`, body: "b" } }),
    });
    return response.status;
  };
  assert.is(await ask(), 403);
  for (const [key, value] of [
    ["allowPrivateNetwork", true],
    ["allowedHostnames", ["127.0.0.1"]],
  ] as const) {
    received.length = 0;
    await gateway.gateway.config.set(["deliveries"], { [key]: value });
    assert.is(await ask(), 200, key);
    await until(`the delivery with ${key}`, () => received.length > 0, 20_000);
  }
  await gateway.gateway.config.set(["deliveries"], { hostnameAllowlist: ["only.example"] });
  assert.is(await ask(), 403);
});

test.run();
