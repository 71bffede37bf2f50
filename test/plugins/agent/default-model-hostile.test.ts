/** Without a model in the configuration: the first of the highest channel, and echo only where there is no channel. */
import * as assert from "uvu/assert";
import { test } from "../../support/suite.ts";
import type { TestOptions } from "../../support/gateway.ts";
import { until } from "../../support/until.ts";
import { type ScriptedGateway, scriptedGateway } from "./scripted.ts";

const HOOK = {
  "hooks/asks/HOOK.md": "---\nname: asks\ndescription: x\nevents: [message:received]\n---\n",
  "hooks/asks/handler.ts":
    "export default async ({ context }, ctx) => (context.source === 'chat' ? { reply: await ctx.chat('from a hook') } : undefined);",
};
const WEBHOOK_TOKEN = "webhook-token-of-the-test";
/** A provider whose upstream cannot list its models. */
const SILENT = `import { definePlugin } from "portico";
export default definePlugin({ name: "silent", setup(ctx) {
  ctx.add("provider", { name: "silent", complete: () => "never", models: () => { throw new Error("down"); } });
} });`;

interface Asked {
  channel: string;
  model: string;
}

async function gateway(
  channels: object,
  options: TestOptions = {},
): Promise<ScriptedGateway & { targets: Asked[] }> {
  const targets: Asked[] = [];
  const g = await scriptedGateway({
    config: {
      channels,
      agents: { defaults: { model: undefined, maxAttempts: 1 } },
      ...options.config,
    },
    files: { "plugins/silent/plugin.ts": SILENT, ...options.files },
  });
  g.script((request, { channel }) => {
    targets.push({ channel, model: request.model });
    return "answered";
  });
  return Object.assign(g, { targets });
}

test("turns, hooks and automation use the first model of the channel with the highest priority", async () => {
  const scripted = { provider: "scripted" };
  const channels = {
    low: { ...scripted, models: ["m-low"] },
    off: { ...scripted, models: ["m-off"], priority: 9, enabled: false },
    high: { ...scripted, models: ["text-embedding-1", "m-high", "m-other"], priority: 2 },
  };
  const webhooks = {
    enabled: true,
    token: WEBHOOK_TOKEN,
    mappings: { ci: { message: "by a mapping" } },
  };
  const g = await gateway(channels, { files: HOOK, config: { webhooks } });
  const turn = await g.json("POST", "/agent", { message: "hello", wait: true });
  assert.equal([turn.state, turn.result], ["done", "answered"]);
  const response = await g.json("POST", "/v1/chat/completions", {
    model: "low/m-low",
    messages: [{ role: "user", content: "x" }],
  });
  assert.is(response.choices[0].message.content, "answered");
  const { id } = await g.json("POST", "/cron/jobs", {
    name: "j",
    schedule: { kind: "every", everyMs: 3_600_000 },
    payload: { kind: "agentTurn", message: "by cron" },
  });
  await g.json("POST", `/cron/jobs/${id}/run`);
  await until("the job's turn", () => g.targets.length === 3);
  const hook = (path: string, body: object) =>
    fetch(`${g.url}/hooks/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${WEBHOOK_TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  for (const [path, body] of [
    ["agent", { message: "by a webhook", wait: true }],
    ["ci", {}],
    ["wake", { text: "by a wake", mode: "now" }],
  ] as const) {
    const before = g.targets.length;
    assert.is((await hook(path, body)).status, 200, path);
    await until(`the turn of ${path}`, () => g.targets.length > before);
  }
  await g.json("POST", "/cron/jobs", {
    name: "event",
    schedule: "in 50ms",
    payload: { kind: "systemEvent", text: "by an event" },
  });
  await until("the event", async () =>
    JSON.stringify(await g.json("GET", "/heartbeat")).includes("by an event"),
  );
  const before = g.targets.length;
  await g.json("POST", "/heartbeat", {});
  await until("the heartbeat's turn", () => g.targets.length > before);
  assert.equal(
    g.targets.filter(({ channel, model }) => `${channel}/${model}` !== "high/m-high"),
    [],
  );
  await g.stop();
});

test("a turn fails if channels cannot list their models, and never falls back to echo", async () => {
  const g = await gateway({ main: { provider: "silent" } });
  const response = await g.request("POST", "/agent", { message: "hello", wait: true });
  assert.is(response.status, 502);
  const { error } = (await response.json()) as { error: { message: string } };
  assert.match(error.message, /main.*agents\.defaults\.model/);
  const { notices } = await g.json<{ notices: { from: string; text: string }[] }>(
    "GET",
    "/kernel/status",
  );
  assert.match(
    notices.find(({ from }) => from === "agent")?.text ?? "",
    /^No default model is set.*main/,
  );
  await g.stop();
});

test("the default model is echo if no channel is configured, and the status reports that", async () => {
  const g = await gateway({});
  const turn = await g.json("POST", "/agent", { message: "hello", wait: true });
  assert.equal([turn.model, turn.result], ["echo", "hello"]);
  const { notices } = await g.json<{ notices: { from: string; text: string }[] }>(
    "GET",
    "/kernel/status",
  );
  assert.match(notices.find(({ from }) => from === "agent")?.text ?? "", /no channel.*echo/);
  await g.stop();
});

test.run();
