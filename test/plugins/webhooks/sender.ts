/** A sender of webhooks for the tests, and a gateway that takes them without asking anybody outside. */
import { type InProcessGateway, startGateway, type TestOptions } from "../../support/gateway.ts";
import { until } from "../../support/until.ts";

export const TOKEN = "hook-token-1";

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  body: any;
}

export interface Receiver extends InProcessGateway {
  /** Sends a POST with the token and JSON by default. */
  send(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  status(path: string): Promise<Answer>;
  /** Resolves with the turn once it has ended. */
  ended(turnId: string): Promise<{ state: string; result: string; sessionId: string }>;
}

export async function startReceiver(
  webhooks: Record<string, unknown>,
  options: TestOptions = {},
): Promise<Receiver> {
  const gateway = await startGateway({
    ...options,
    config: {
      agents: { defaults: { model: "echo", heartbeat: { every: "0" } } },
      webhooks: { enabled: true, token: TOKEN, ...webhooks },
      ...options.config,
    },
  });
  return Object.assign(
    gateway,
    clientOf(() => gateway.url),
  );
}

/** Request `n` of a sender whose every request counts: even senders ask the agent, odd ones wake it. */
export function numberedRequest(
  sender: number,
  n: number,
): [path: string, body: object, headers: Record<string, string>] {
  const headers = withToken({ "idempotency-key": `${sender}.${n}` });
  if (sender % 2 === 0)
    return ["/hooks/agent", { message: `number ${n}.`, session: `kill:${sender}` }, headers];
  return ["/hooks/wake", { text: `event ${sender}.${n}.`, mode: "now" }, headers];
}

export function clientOf(url: () => string) {
  const ask = async (path: string, init: RequestInit): Promise<Answer> => {
    const response = await fetch(url() + path, init);
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json");
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? JSON.parse(text) : undefined,
    };
  };
  const status = (path: string) => ask(path, { headers: { authorization: `Bearer ${TOKEN}` } });
  return {
    send: (path: string, body: unknown, headers?: Record<string, string>) =>
      ask(path, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(headers ?? { authorization: `Bearer ${TOKEN}` }),
        },
        body:
          typeof body === "string" || body instanceof Uint8Array
            ? (body as string)
            : JSON.stringify(body),
      }),
    status,
    ended: (turnId: string) =>
      until(`the end of ${turnId}`, async () => {
        const { body } = await status(`/hooks/turns/${turnId}`);
        return ["done", "dead", "cancelled"].includes(body.state) ? body : undefined;
      }),
  };
}

export const withToken = (headers: Record<string, string>) => ({
  authorization: `Bearer ${TOKEN}`,
  ...headers,
});
