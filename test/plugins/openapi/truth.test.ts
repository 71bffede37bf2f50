/** What routes answer is what they declare: real requests, and each response checked by its own schema. */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { test } from "../../support/suite.ts";

const WEBHOOKS = "a-token-of-webhooks";

interface Operation {
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}
type Document = { paths: Record<string, Record<string, Operation>> };

let gateway: InProcessGateway;
let document: Document;
const ajv = new Ajv2020({ strict: false, allErrors: true });
(addFormats as unknown as (to: Ajv2020) => void)(ajv);

test.before(async () => {
  gateway = await startGateway({
    config: {
      webhooks: { token: WEBHOOKS, mappings: { build: { message: "Build {body.id}" } } },
    },
  });
  document = await gateway.json("GET", "/openapi.json?server=gateway");
});
test.after(() => gateway?.stop());

const patterns = () =>
  Object.keys(document.paths)
    .map((path) => ({ path, literal: path.replace(/\{[^}]+\}/g, "").length }))
    .sort((a, b) => b.literal - a.literal)
    .map(({ path }) => ({
      path,
      pattern: new RegExp(
        `^${path
          .replace(/[.]/g, "\\.")
          .replace(/\{rest\}/g, ".*")
          .replace(/\{[^}]+\}/g, "[^/]+")}$`,
      ),
    }));

function operationOf(method: string, target: string): Operation {
  const bare = target.split("?")[0]!;
  for (const { path, pattern } of patterns()) {
    const operation = document.paths[path]?.[method.toLowerCase()];
    if (operation && pattern.test(bare)) return operation;
  }
  throw new Error(`The document has no ${method} ${target}.`);
}

function validatorOf({ responses }: Operation, status: number, type: string): ValidateFunction {
  const response = responses[String(status)] ?? responses["default"];
  const schema = response?.content?.[type]?.schema;
  if (schema === undefined) throw new Error(`${status} with ${type} is not declared`);
  return ajv.compile(schema);
}

interface Options {
  token?: string | null;
  headers?: Record<string, string>;
}

/** Sends a request, and checks the response by what its route declares. */
async function ask(method: string, path: string, body?: unknown, options: Options = {}) {
  const response = await gateway.request(method, path, body, options);
  const type = (response.headers.get("content-type") ?? "").split(";")[0]!;
  const text = await response.text();
  const validate = validatorOf(operationOf(method, path), response.status, type);
  const value: unknown = type === "application/json" ? JSON.parse(text) : text;
  assert.ok(
    validate(value),
    `${method} ${path} ${response.status}: ${ajv.errorsText(validate.errors)}\n${text.slice(0, 400)}`,
  );
  return { status: response.status, value: value as any };
}

const messages = [{ role: "user", content: "Hi" }];

test("the routes of models and stored responses match their schemas", async () => {
  await ask("POST", "/v1/chat/completions", { model: "echo", messages });
  await ask("POST", "/v1/chat/completions", { model: "echo", messages, stream: true });
  await ask("POST", "/v1/chat/completions", { model: "nowhere", messages });
  await ask("POST", "/v1/chat/completions", { messages: "none" });
  await ask("POST", "/v1/chat/completions", { model: "echo", messages }, { token: null });
  await ask("GET", "/v1/models");
  await ask("GET", "/v1/models", undefined, { headers: { "anthropic-version": "2023-06-01" } });
  await ask("GET", "/v1/models/echo");
  await ask("GET", "/v1/models/nowhere");
  await ask("POST", "/v1/embeddings", { model: "echo", input: "Hi" });
  await ask("POST", "/v1/completions", { model: "echo", prompt: "Hi" });
  const { value } = await ask("POST", "/v1/responses", { model: "echo", input: "Hi" });
  await ask("GET", `/v1/responses/${value.id}`);
  await ask("GET", `/v1/responses/${value.id}/input_items`);
  await ask("POST", "/v1/responses/input_tokens", { model: "echo", input: "Hi" });
  await ask("DELETE", `/v1/responses/${value.id}`);
  await ask("GET", `/v1/responses/${value.id}`);
  await ask("POST", "/v1/messages", { model: "echo", max_tokens: 9, messages });
  await ask("POST", "/v1/messages", { model: "echo", messages: 1 });
  await ask("POST", "/v1/messages/count_tokens", { model: "echo", messages });
  const { value: list } = await ask("GET", "/requests?limit=5");
  await ask("GET", `/requests/${list.requests[0].id}`);
  await ask("GET", "/requests/nothing");
  await ask("GET", "/usage?by=model,day");
  await ask("GET", "/usage/requests?status=4xx");
  await ask("GET", "/usage/requests?limit=0");
});

test("the routes of the agent, its turns, sessions and events match their schemas", async () => {
  const { value } = await ask("POST", "/agent", { message: "Hello", wait: true });
  await ask("POST", "/agent", { message: "Hello" });
  await ask("POST", "/agent", { message: "/status" });
  await ask("POST", "/agent", {});
  await ask("GET", "/turns?state=done&limit=3");
  await ask("GET", "/turns?state=sleeping");
  await ask("GET", `/turns/${value.turnId}`);
  await ask("POST", `/turns/${value.turnId}/cancel`);
  await ask("POST", `/turns/${value.turnId}/replay`);
  await ask("POST", `/turns/${value.turnId}/confirm`);
  await ask("POST", `/turns/${value.turnId}/deny`, { reason: "no" });
  await ask("GET", "/sessions?limit=10");
  await ask("GET", "/sessions/main?last=2");
  await ask("GET", "/sessions/nothing");
  await ask("GET", "/heartbeat");
  await ask("POST", "/heartbeat");
  await ask("GET", "/tools?as=outside");
  await ask("GET", "/tools?as=nobody");
  await ask("DELETE", "/sessions/main");
});

test("the routes of keys, schedules, polls and deliveries match their schemas", async () => {
  await ask("POST", "/keys", { name: "one", requestsPerMinute: 5 });
  await ask("POST", "/keys", { name: "one" });
  await ask("POST", "/keys/one/rotate");
  await ask("GET", "/keys");
  await ask("DELETE", "/keys/one");
  const schedule = { kind: "every", everyMs: 3_600_000 };
  const payload = { kind: "systemEvent", text: "x" };
  const job = await ask("POST", "/cron/jobs", { name: "j", schedule, payload });
  const at = `/cron/jobs/${job.value.id}`;
  await ask("POST", "/cron/jobs", { name: "j" });
  await ask("PATCH", at, { description: "d" });
  await ask("POST", `${at}/run`);
  await ask("GET", `${at}/runs`);
  await ask("POST", `${at}/disable`);
  await ask("POST", `${at}/enable`);
  await ask("GET", "/cron/jobs");
  await ask("GET", at);
  await ask("DELETE", at);
  await ask("GET", at);
  const source = { kind: "file", path: "notes.txt" };
  const poll = await ask("POST", "/polls", { name: "p", every: "1h", source, payload });
  const atPoll = `/polls/${poll.value.id}`;
  await ask("PATCH", atPoll, { name: "q" });
  await ask("GET", atPoll);
  for (const action of ["disable", "enable"]) await ask("POST", `${atPoll}/${action}`);
  await ask("GET", "/polls");
  await ask("GET", "/polls/jobs");
  await ask("GET", "/polls/nothing");
  await ask("POST", "/polls", { name: "p" });
  await ask("GET", "/deliveries?state=done");
  await ask("GET", "/deliveries/nothing");
});

test("the routes of webhooks and their management match their schemas", async () => {
  const sender = { token: WEBHOOKS };
  await ask("POST", "/hooks/wake", { text: "x" }, sender);
  await ask("POST", "/hooks/wake", {}, sender);
  await ask("POST", "/hooks/build", { id: 1 }, sender);
  await ask("POST", "/hooks/agent", { message: "x" }, { token: "wrong" });
  const { value } = await ask("POST", "/hooks/agent", { message: "x" }, sender);
  await ask("GET", `/hooks/turns/${value.turnId}`, undefined, sender);
  await ask("GET", "/webhooks");
  const { value: list } = await ask("GET", "/webhooks/deliveries?outcome=accepted");
  await ask("GET", `/webhooks/deliveries/${list.deliveries[0].id}`);
  await ask("POST", `/webhooks/deliveries/${list.deliveries[0].id}/replay`);
  await ask("POST", "/webhooks/test", { path: "build", body: { id: 2 } });
  await ask("GET", "/webhooks/samples/build");
  await ask("GET", "/webhooks/samples/nothing");
  await ask("DELETE", "/webhooks/samples/build");
});

test("the routes of management, the store and the gateway itself match their schemas", async () => {
  for (const path of [
    "/health",
    "/ready",
    "/channels",
    "/metrics",
    "/mcp/servers",
    "/nodes",
    "/openapi.json",
    "/store",
    "/store/lanes",
    "/kernel/status",
    "/kernel/events",
    "/kernel/plugins",
    "/kernel/plugins/chat",
    "/kernel/plugins/nothing",
    "/kernel/hooks",
    "/kernel/hooks/boot-md",
    "/kernel/hooks/boot-md/logs?lines=3",
    "/kernel/config",
    "/kernel/config/history",
    "/kernel/config/diff",
    "/kernel/logs?lines=2",
    "/kernel/logs?level=loud",
    "/dashboard/channels",
    "/dashboard/browser/profiles",
    "/dashboard/browser/tabs",
    "/",
  ])
    await ask("GET", path);
  for (const path of [
    "/store/check",
    "/store/backup",
    "/store/compact",
    "/channels/echo/test",
    "/kernel/config/refresh",
    "/kernel/hooks/rescan",
    "/kernel/hooks/boot-md/check",
    "/kernel/hooks/boot-md/disable",
    "/kernel/plugins/rescan",
  ])
    await ask("POST", path);
  await ask("POST", "/kernel/hooks/boot-md/run", { event: 1 });
  await ask("POST", "/kernel/config", { key: "gateway.nothing", value: 1 });
  await ask(
    "POST",
    "/mcp",
    { jsonrpc: "2.0", id: 1, method: "tools/list" },
    {
      headers: { accept: "application/json, text/event-stream" },
    },
  );
  await ask("POST", "/mcp", { no: "message" });
});

test.run();
