/**
 * What the eight senders get to hear. GitHub, GitLab, Standard Webhooks and X-Hub-Signature sign with their own or the
 * published package; Stripe, Slack, Linear and Shopify by the recipe of their pages, as their packages are large.
 */
import { createHmac } from "node:crypto";
import { sign as octokit } from "@octokit/webhooks-methods";
import { Webhook } from "standardwebhooks";
import * as assert from "uvu/assert";
// @ts-expect-error it comes without types
import XHubSignature from "x-hub-signature";
import { suite } from "../../support/suite.ts";
import { type Receiver, startReceiver } from "./sender.ts";

type Headers = Record<string, string>;

interface Sender {
  scheme: unknown;
  secret: string;
  match: Record<string, unknown>;
  /** What the mapping waits for, and what the sender sends to see whether anybody is there. */
  event: Message;
  ping: Message;
  sign(body: string, at: Date, headers: Headers): Headers | Promise<Headers>;
  /** Whether the signature contains a time. */
  timed?: true;
}
interface Message {
  headers?: Headers;
  body: unknown;
}

const hmac = (secret: string, text: string, form: "hex" | "base64" = "hex") =>
  createHmac("sha256", secret).update(text).digest(form);
const seconds = (at: Date) => Math.floor(at.getTime() / 1000);
const KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
let count = 0;

function standard(body: string, at: Date, headers: Headers): Headers {
  const id = headers["webhook-id"] ?? `msg_${count++}`;
  return {
    "webhook-id": id,
    "webhook-timestamp": String(seconds(at)),
    "webhook-signature": new Webhook(KEY).sign(id, at, body),
  };
}

const senders: Record<string, Sender> = {
  github: {
    scheme: "github",
    secret: "It's a Secret to Everybody",
    match: { "headers.x-github-event": "issues" },
    event: {
      headers: {
        "x-github-event": "issues",
        "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
      },
      body: {
        action: "opened",
        issue: { number: 7, title: "Größe ☂" },
        sender: { login: "octocat", type: "User" },
      },
    },
    ping: {
      headers: {
        "x-github-event": "ping",
        "x-github-delivery": "0b989ba4-242f-11e5-81e1-c7b6966d2516",
      },
      body: {
        zen: "Keep it logically awesome.",
        hook_id: 30,
        hook: { type: "Repository", events: ["issues"] },
      },
    },
    sign: async (body) => ({
      "x-hub-signature-256": await octokit("It's a Secret to Everybody", body),
    }),
  },
  gitlab: {
    scheme: "gitlab",
    secret: KEY,
    match: { "body.object_kind": "issue" },
    event: {
      headers: {
        "x-gitlab-event": "Issue Hook",
        "webhook-id": "f5e5f430-f57b-4e6e-9fac-d9128cd7232f",
      },
      body: {
        object_kind: "issue",
        object_attributes: { iid: 23, title: "New API", action: "open" },
      },
    },
    ping: {
      headers: {
        "x-gitlab-event": "Push Hook",
        "webhook-id": "a5e5f430-f57b-4e6e-9fac-d9128cd7232f",
      },
      body: {
        object_kind: "push",
        event_name: "push",
        before: "0".repeat(40),
        commits: [],
        total_commits_count: 0,
      },
    },
    sign: standard,
    timed: true,
  },
  stripe: {
    scheme: "stripe",
    secret: "whsec_5f0c4d3e2b1a09f8e7d6c5b4a3928170",
    match: { "body.type": { prefix: "invoice." } },
    event: {
      body: {
        id: "evt_1NG8Du2eZvKYlo2CUI79vXWy",
        object: "event",
        type: "invoice.paid",
        livemode: false,
        data: { object: { id: "in_1", object: "invoice", total: 2000 } },
      },
    },
    ping: {
      body: {
        id: "evt_test_65R9",
        object: "v2.core.event",
        type: "v2.core.event_destination.ping",
        context: null,
      },
    },
    sign: (body, at) => {
      const time = seconds(at);
      return {
        "stripe-signature": `t=${time},v1=${hmac("whsec_5f0c4d3e2b1a09f8e7d6c5b4a3928170", `${time}.${body}`)},v0=${"0".repeat(64)}`,
      };
    },
    timed: true,
  },
  slack: {
    scheme: "slack",
    secret: "8f742231b10e8888abcd99yyyzzz85a5",
    match: { "body.event.type": "app_mention" },
    event: {
      body: {
        type: "event_callback",
        event_id: "Ev123ABC456",
        team_id: "T123ABC456",
        event: {
          type: "app_mention",
          user: "U123ABC456",
          text: "<@U0LAN0Z89> hello",
          channel: "C123ABC456",
        },
      },
    },
    ping: {
      body: {
        type: "event_callback",
        event_id: "Ev0",
        event: { type: "app_home_opened", user: "U1" },
      },
    },
    sign: (body, at) => {
      const time = String(seconds(at));
      const signature = `v0=${hmac("8f742231b10e8888abcd99yyyzzz85a5", `v0:${time}:${body}`)}`;
      return { "x-slack-request-timestamp": time, "x-slack-signature": signature };
    },
    timed: true,
  },
  linear: {
    scheme: "linear",
    secret: "lin_wh_1",
    match: { "body.type": "Issue", "body.action": "create" },
    event: {
      headers: {
        "linear-delivery": "234d1a4e-b617-4388-90fe-adc3633d6b72",
        "linear-event": "Issue",
      },
      body: {
        action: "create",
        type: "Issue",
        data: { id: "2174add1", title: "Door" },
        webhookTimestamp: 0,
      },
    },
    ping: {
      headers: {
        "linear-delivery": "334d1a4e-b617-4388-90fe-adc3633d6b72",
        "linear-event": "Reaction",
      },
      body: { action: "create", type: "Reaction", data: { emoji: "+1" }, webhookTimestamp: 0 },
    },
    sign: (body) => ({ "linear-signature": hmac("lin_wh_1", body) }),
    timed: true,
  },
  shopify: {
    scheme: "shopify",
    secret: "shpss_1",
    match: { "headers.x-shopify-topic": "orders/create" },
    event: {
      headers: {
        "x-shopify-topic": "orders/create",
        "x-shopify-event-id": "98880550-7158-44d4-b7cd-2c97c8a091b5",
      },
      body: {
        id: "820982911946154508",
        email: "jon@example.com",
        total_price: "398.00",
        line_items: [{ sku: "A" }],
      },
    },
    ping: {
      headers: {
        "x-shopify-topic": "app/uninstalled",
        "x-shopify-test": "true",
        "x-shopify-event-id": "1",
      },
      body: { id: 1, name: "Shop" },
    },
    sign: (body) => ({ "x-shopify-hmac-sha256": hmac("shpss_1", body, "base64") }),
  },
  standard: {
    scheme: "standard",
    secret: KEY,
    match: { "body.type": "contact.created" },
    event: {
      headers: { "webhook-id": "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W" },
      body: {
        type: "contact.created",
        timestamp: "2026-11-03T20:26:10.344522Z",
        data: { id: "1f81eb52" },
      },
    },
    ping: {
      headers: { "webhook-id": "msg_ping" },
      body: { type: "ping", data: { success: true } },
    },
    sign: standard,
    timed: true,
  },
  hub: {
    scheme: { hmac: { header: "x-hub-signature", algorithm: "sha1", prefix: "sha1=" } },
    secret: "app-secret",
    match: { "body.object": "page" },
    event: {
      headers: { "idempotency-key": "one" },
      body: {
        object: "page",
        entry: [{ id: "0", time: 1520383571, changes: [{ field: "feed" }] }],
      },
    },
    ping: { headers: { "idempotency-key": "two" }, body: { object: "user", entry: [] } },
    sign: (body) => ({
      "x-hub-signature": new XHubSignature("sha1", "app-secret").sign(Buffer.from(body)) as string,
    }),
  },
};

const test = suite("receipts");
let gateway: Receiver;

test.before(async () => {
  const mappings = Object.entries(senders).map(([name, { scheme, secret, match }]) => [
    name,
    { match, message: "{json body}", verify: { scheme, secret } },
  ]);
  gateway = await startReceiver({ mappings: Object.fromEntries(mappings) });
});
test.after(() => gateway.stop());

/** As the sender posts it at that time; `changed` spoils the body after it was signed. */
async function post(
  name: string,
  message: Message,
  options: { at?: Date; changed?: boolean; path?: string } = {},
) {
  const { at = new Date(), changed = false, path = `/hooks/${name}` } = options;
  const sender = senders[name] as Sender;
  const body = typeof message.body === "string" ? message.body : JSON.stringify(message.body);
  const dated =
    name === "linear"
      ? body.replace('"webhookTimestamp":0', `"webhookTimestamp":${at.getTime()}`)
      : body;
  const headers = { ...message.headers, ...(await sender.sign(dated, at, message.headers ?? {})) };
  return gateway.send(path, changed ? dated.replace(/[a-z](?="[,}\]])/, "_") : dated, headers);
}

for (const [name, { event, ping, timed }] of Object.entries(senders)) {
  test(`${name}: an event is taken, a repeat gets the same receipt`, async () => {
    const first = await post(name, event);
    assert.is(first.status, 200, first.text);
    assert.match(first.body.turnId, /^turn_/);
    const again = await post(name, event);
    assert.is(again.status, 200);
    assert.equal(again.body, first.body);
    const { deliveries } = await gateway.json("GET", `/webhooks/deliveries?source=${name}`);
    assert.equal(
      deliveries.map((delivery: { outcome: string }) => delivery.outcome),
      ["duplicate", "accepted"],
    );
  });

  test(`${name}: one byte changed is 401`, async () => {
    const response = await post(name, event, { changed: true });
    assert.is(response.status, 401, response.text);
    assert.is(response.body.error.code, "unauthorized");
  });

  if (timed)
    test(`${name}: an old one is 401, and says why`, async () => {
      for (const minutes of [-6, 6]) {
        const response = await post(name, event, { at: new Date(Date.now() + minutes * 60_000) });
        assert.is(response.status, 401, response.text);
        assert.match(
          response.body.error.message,
          "timestamp of the signature is too far from the current time",
        );
      }
    });

  test(`${name}: what the mapping does not wait for is 200 and skipped`, async () => {
    const named = await post(name, ping);
    assert.is(named.status, 200, named.text);
    assert.is(named.body.outcome, "skipped");
    assert.is(named.body.turnId, undefined);
  });
}

test("if a sender names no delivery, the same body for another event is another delivery", async () => {
  const body = { action: "opened", issue: { number: 8 } };
  const first = await post("github", { headers: { "x-github-event": "issues" }, body });
  assert.match(first.body.turnId, /^turn_/);
  const other = await post("github", { headers: { "x-github-event": "issue_comment" }, body });
  assert.equal([other.status, other.body.outcome], [200, "skipped"]);
  const again = await post("github", { headers: { "x-github-event": "issues" }, body });
  assert.equal(again.body, first.body);
});

test("forms are signed as they are sent: GitHub's payload, Slack's command", async () => {
  const type = { "content-type": "application/x-www-form-urlencoded" };
  const { event } = senders["github"] as Sender;
  const form = `payload=${encodeURIComponent(JSON.stringify(event.body))}`;
  const github = {
    headers: { ...event.headers, ...type, "x-github-delivery": "a-form" },
    body: form,
  };
  const response = await post("github", github);
  assert.is(response.status, 200, response.text);
  assert.match(response.body.turnId, /^turn_/);
  assert.is(
    (await post("github", { ...github, body: `${form}%20` })).body.turnId,
    response.body.turnId,
  );
  const command = { headers: type, body: "command=%2Fweather&text=94070&user_name=ada" };
  assert.is((await post("slack", command)).body.outcome, "skipped");
});

test.run();
