/** A gateway whose alias `smart` falls back twice, with hooks that change the request and the response. */
import { EventEmitter } from "node:events";
import { hashOf } from "../../../plugins/keys/grant.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { hookFiles } from "../../support/hook-files.ts";
import { until } from "../../support/until.ts";
import {
  chunk,
  completion,
  DONE,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const USAGE = {
  prompt_tokens: 1000,
  completion_tokens: 100,
  total_tokens: 1100,
  prompt_tokens_details: { cached_tokens: 500 },
};
export const SECRET = "sk-upstream-secret";

/** Emits an event for each request for the model `slow`, which never receives a response. */
export const asked = new EventEmitter();

let up: Upstream;
export let gateway: InProcessGateway;

/** Starts the gateway and its upstream. */
export async function startScene(): Promise<void> {
  up = await startUpstream(({ body }, res) => {
    if (body.model === "slow") return void asked.emit("slow");
    if (body.model === "down") return json(res, { error: { message: `no ${SECRET}` } }, 503);
    if (body.model === "full") return json(res, { error: { message: "slow down" } }, 429);
    if (body.stream) {
      const usage = chunk({}, null, { choices: [], usage: USAGE });
      return stream(res, chunk({ content: "Dear Bob" }), chunk({}, "stop"), usage, DONE);
    }
    return json(res, { ...completion("Dear Bob"), usage: USAGE });
  });
  const channel = { provider: "openai", baseUrl: up.url, apiKey: SECRET, maxRetries: 0 };
  gateway = await startGateway({
    config: {
      channels: {
        one: { ...channel, models: ["down"] },
        two: { ...channel, models: ["full"] },
        three: { ...channel, models: ["gpt-4o-mini"] },
        quiet: { ...channel, models: ["plain", "slow"] },
        paced: { ...channel, models: ["paced"], requestsPerMinute: 1 },
        cheap: { ...channel, models: ["cheap"], tokensPerMinute: 1 },
      },
      models: { smart: { targets: ["one/down", "two/full", "three/gpt-4o-mini"] } },
      gateway: {
        keys: {
          ci: { hash: hashOf("pk-ci-0123456789abcdef") },
          few: { hash: hashOf("pk-few-0123456789abcdef"), requestsPerMinute: 1 },
          narrow: { hash: hashOf("pk-narrow-0123456789abcdef"), models: ["quiet/plain"] },
        },
      },
      log: { content: { keys: ["few"], channels: ["three"] } },
    },
    files: {
      ...hookFiles(
        "polite",
        'event.context.request.temperature = 0.5;\nevent.context.request.user = "u1";',
        {
          events: "chat:request",
        },
      ),
      ...hookFiles(
        "names",
        'event.context.content = event.context.content.replace("Bob", "Ada");',
        {
          events: "message:sending",
        },
      ),
      ...hookFiles("looks", "event.context.content;"),
    },
  });
}

export async function stopScene(): Promise<void> {
  await gateway?.stop();
  await up?.close();
}

export const KEYS = {
  ci: "pk-ci-0123456789abcdef",
  few: "pk-few-0123456789abcdef",
  narrow: "pk-narrow-0123456789abcdef",
};

/** Sends a request with a client key, or as the owner. */
export function ask(
  model: string,
  token?: string,
  more: object = {},
  headers = {},
): Promise<Response> {
  const body = { model, messages: [{ role: "user", content: "Write to Bob" }], ...more };
  return gateway.request("POST", "/v1/chat/completions", body, { token, headers });
}

/** The story of a response that has been read, as soon as the gateway has it. */
export async function storyOf(response: Response): Promise<any> {
  await response.text();
  const id = response.headers.get("x-request-id")!;
  let story: any;
  await until(`the story of ${id}`, async () => {
    const response = await gateway.request("GET", `/requests/${id}`);
    if (response.status === 200) story = await response.json();
    return story !== undefined;
  });
  return story;
}
