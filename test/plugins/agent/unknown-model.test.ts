/** A model that nothing can serve is refused when a turn is requested or scheduled, not later when it runs. */
import * as assert from "uvu/assert";
import { test } from "../../support/suite.ts";
import type { TestGateway } from "../../support/gateway.ts";
import { type ScriptedGateway, scriptedGateway } from "./scripted.ts";

const WEBHOOK_TOKEN = "webhook-token-of-the-test";
const TRANSFORM = "export default ({ body }) => ({ model: body.model });";

/** A provider whose upstream cannot list its models. */
const SILENT = `import { definePlugin } from "portico";
export default definePlugin({ name: "silent", setup(ctx) {
  ctx.add("provider", { name: "silent", complete: () => "never", models: () => { throw new Error("down"); } });
} });`;

/** `listed` names its models, `any` accepts each name that begins with `claude-`, `asked` reports that it has only `scripted`. */
const CHANNELS = {
  listed: { provider: "scripted", models: ["gpt-4o"] },
  any: { provider: "scripted", models: ["claude-*"] },
  asked: { provider: "scripted" },
  off: { provider: "scripted", models: ["gpt-off"], enabled: false },
};
const ALIASES = {
  fast: "listed/gpt-4o",
  cheap: { targets: ["listed/gpt-4o", "any/claude-1"], strategy: "cost" },
};
const MAPPING = { message: "x", transform: "model.mjs" };

let g: ScriptedGateway;
test.before(async () => {
  g = await scriptedGateway({
    config: {
      channels: CHANNELS,
      models: ALIASES,
      agents: { defaults: { model: undefined, maxAttempts: 1 }, list: { helper: {} } },
      webhooks: {
        enabled: true,
        token: WEBHOOK_TOKEN,
        mappings: { any: MAPPING, burst: { ...MAPPING, coalesce: { key: "{body.k}" } } },
      },
    },
    files: { "transforms/model.mjs": TRANSFORM },
  });
  g.script(() => "answered");
});

/** `POST /agent`, webhooks, cron and polls, each with the place of the model in its body. */
const NOT_FOUND: [number, string] = [404, "model_not_found"];
const WRONG_DEFINITION: [number, string] = [400, "invalid_request_error"];
type Target = { model?: string; channel?: string; agent?: string };
const doors: Record<
  string,
  {
    param: string;
    unknownModel: [status: number, code: string];
    ask(gateway: TestGateway, target: Target): Promise<Response>;
  }
> = {
  "POST /agent": {
    param: "",
    unknownModel: NOT_FOUND,
    ask: (gateway, target) => gateway.request("POST", "/agent", { message: "x", ...target }),
  },
  "POST /hooks/agent": {
    param: "",
    unknownModel: NOT_FOUND,
    ask: (gateway, target) => webhook(gateway, "agent", { message: "x", ...target }),
  },
  "a cron job": {
    param: "payload.",
    unknownModel: WRONG_DEFINITION,
    ask: (gateway, target) =>
      gateway.request("POST", "/cron/jobs", {
        schedule: { kind: "every", everyMs: 3_600_000 },
        payload: { kind: "agentTurn", message: "x", ...target },
      }),
  },
  "a poll": {
    param: "payload.",
    unknownModel: WRONG_DEFINITION,
    ask: (gateway, target) =>
      gateway.request("POST", "/polls", {
        every: "1h",
        source: { kind: "file", path: "a.txt" },
        payload: { kind: "agentTurn", message: "x", ...target },
      }),
  },
};

function webhook(gateway: TestGateway, path: string, body: object): Promise<Response> {
  return gateway.request("POST", `/hooks/${path}`, body, { token: WEBHOOK_TOKEN });
}

const REFUSED: Record<string, string | undefined> = {
  "gpt-4": "gpt-4o",
  "listd/gpt-4o": "listed/gpt-4o",
  fsat: "fast",
  "gpt-off": undefined,
  "off/gpt-off": undefined,
  "no such model": undefined,
};
const ACCEPTED = [
  "gpt-4o",
  "listed/anything",
  "claude-opus-99",
  "scripted",
  "fast",
  "cheap",
  "echo",
];

for (const [door, { param, unknownModel, ask }] of Object.entries(doors)) {
  test(`${door}: an unknown model is refused, and the error suggests the nearest one`, async () => {
    for (const [model, nearest] of Object.entries(REFUSED)) {
      const response = await ask(g, { model });
      const { error } = (await response.json()) as { error: Record<string, string> };
      assert.equal(
        [response.status, error["code"], error["param"]],
        [...unknownModel, `${param}model`],
        `${model}: ${JSON.stringify(error)}`,
      );
      if (nearest !== undefined)
        assert.match(error["message"] ?? "", `Did you mean \`${nearest}\``);
    }
  });

  test(`${door}: a model that may exist is accepted`, async () => {
    for (const model of ACCEPTED) {
      const response = await ask(g, { model });
      assert.ok(response.ok, `${model}: ${await response.text()}`);
    }
  });

  test(`${door}: an unknown channel and the agent itself are 400`, async () => {
    for (const [target, name] of [
      [{ channel: "lsited" }, "channel"],
      [{ channel: "off" }, "channel"],
      [{ model: "gpt-4o", channel: "nope" }, "channel"],
      [{ model: "agent" }, "model"],
      [{ model: "agent/helper" }, "model"],
    ] as const) {
      const response = await ask(g, target);
      const { error } = (await response.json()) as { error: Record<string, string> };
      assert.equal(
        [response.status, error["code"], error["param"]],
        [400, "invalid_request_error", param + name],
        `${JSON.stringify(target)}: ${JSON.stringify(error)}`,
      );
    }
  });
}

test("an unknown agent is refused in the same way", async () => {
  for (const door of ["POST /agent", "a cron job", "a poll"]) {
    const { param, unknownModel, ask } = doors[door]!;
    const response = await ask(g, { agent: "hepler" });
    const { error } = (await response.json()) as { error: Record<string, string> };
    assert.equal(
      [response.status, error["code"], error["param"]],
      [...unknownModel, `${param}agent`],
      door,
    );
    assert.ok((await ask(g, { agent: "helper" })).ok, door);
  }
});

test("a change of the model of a job or poll is checked like a new one, and another change is not", async () => {
  for (const [path, rest] of [
    ["/cron/jobs", { schedule: { kind: "every", everyMs: 3_600_000 } }],
    ["/polls", { every: "1h", source: { kind: "file", path: "a.txt" } }],
  ] as const) {
    const payload = { kind: "agentTurn", message: "x", model: "gpt-4o" };
    const { id } = await g.json("POST", path, { ...rest, payload });
    const wrong = { payload: { ...payload, model: "gpt-5o" } };
    const response = await g.request("PATCH", `${path}/${id}`, wrong);
    const { error } = (await response.json()) as { error: Record<string, string> };
    assert.equal([response.status, error["param"]], [400, "payload.model"]);
    const renamed = await g.json("PATCH", `${path}/${id}`, { name: `renamed ${id}` });
    assert.is(renamed.name, `renamed ${id}`);
  }
});

test("a webhook whose transform sets an unknown model is refused, with and without a burst", async () => {
  for (const name of ["any", "burst"]) {
    const response = await webhook(g, name, { model: "gpt-4", k: 1 });
    const { error } = (await response.json()) as { error: Record<string, string> };
    assert.equal([response.status, error["code"]], NOT_FOUND, name);
    assert.is((await webhook(g, name, { model: "gpt-4o", k: 1 })).status, 200, name);
  }
});

test("any name is accepted if a channel cannot list its models", async () => {
  const silent = await scriptedGateway({
    config: {
      channels: { ...CHANNELS, silent: { provider: "silent" } },
      agents: { defaults: { model: undefined, maxAttempts: 1 } },
      webhooks: { enabled: true, token: WEBHOOK_TOKEN },
    },
    files: { "plugins/silent/plugin.ts": SILENT },
  });
  try {
    for (const [door, { ask }] of Object.entries(doors)) {
      const response = await ask(silent, { model: "gpt-4" });
      assert.ok(response.ok, `${door}: ${await response.text()}`);
    }
  } finally {
    await silent.stop();
  }
});

test.after(() => g.stop());
test.run();
