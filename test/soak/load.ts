/** The mixed load: what each kind of caller does, and how often. */
import { findChromium } from "../support/machine/prepare.ts";
import type { SoakGateway } from "./gateway.ts";

const MESSAGES = [{ role: "user", content: "Tell me something." }];
const WEBHOOK_TOKEN = "token-of-the-soak-webhooks";

export const HOOK_FILES = (version: number): Record<string, string> => ({
  "hooks/touch/HOOK.md": "---\nname: touch\nevents: [message:received]\n---\n",
  "hooks/touch/handler.ts": `export default async (event) => {
  event.context.content = event.context.content.trim(); // version ${version}
};
`,
});

export function soakConfig(upstream: string): object {
  return {
    channels: { main: { provider: "openai", baseUrl: `${upstream}/v1`, models: ["m"] } },
    agents: { defaults: { model: "main/m", heartbeat: { every: "1m" } } },
    webhooks: { token: WEBHOOK_TOKEN },
    browser: { headless: true, noSandbox: true, executablePath: findChromium() },
    cron: {
      jobs: {
        tick: {
          schedule: { kind: "every", everyMs: 2000 },
          payload: { kind: "systemEvent", text: "tick" },
        },
      },
    },
    polls: {
      allowPrivateNetwork: true,
      entries: {
        document: {
          every: "2s",
          source: { kind: "json", url: `${upstream}/document`, key: "id" },
          payload: { kind: "agentTurn", message: "Changed: {item.id}" },
        },
      },
    },
  };
}

export interface Caller {
  name: string;
  /** Between the beginnings of two calls, ms. */
  everyMs: number;
  call(gateway: SoakGateway, n: number): Promise<void>;
}

export const callers: readonly Caller[] = [
  { name: "chats", everyMs: 40, call: (gateway) => chat(gateway, { stream: false }) },
  { name: "streams", everyMs: 100, call: (gateway) => chat(gateway, { stream: true }) },
  { name: "leavers", everyMs: 250, call: leave },
  { name: "webhook turns", everyMs: 500, call: webhook },
  { name: "wakes", everyMs: 500, call: wake },
  { name: "agent turns", everyMs: 1000, call: agentTurn },
  { name: "pages", everyMs: 5000, call: openPage },
  { name: "hook saves", everyMs: 5000, call: saveHook },
];

async function send(
  { url, token }: Pick<SoakGateway, "url" | "token">,
  path: string,
  body: object,
  options: { token?: string; signal?: AbortSignal } = {},
): Promise<Response> {
  const response = await fetch(url + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${options.token ?? token}`,
      "content-type": "application/json",
    },
    body: JSON.stringify(body),
    ...(options.signal && { signal: options.signal }),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response;
}

async function chat(gateway: SoakGateway, { stream }: { stream: boolean }): Promise<void> {
  const body = { model: "main/m", messages: MESSAGES, stream };
  await (await send(gateway, "/v1/chat/completions", body)).text();
}

/** Leaves in the middle of a stream. */
async function leave(gateway: SoakGateway): Promise<void> {
  const leaving = new AbortController();
  const body = { model: "main/m", messages: MESSAGES, stream: true };
  const { signal } = leaving;
  const response = await send(gateway, "/v1/chat/completions", body, { signal });
  await response.body?.getReader().read();
  leaving.abort();
}

async function webhook(gateway: SoakGateway, n: number): Promise<void> {
  const body = { message: "Look at this.", session: `webhook:s${n % 20}` };
  await (await send(gateway, "/hooks/agent", body, { token: WEBHOOK_TOKEN })).text();
}

async function wake(gateway: SoakGateway, n: number): Promise<void> {
  const body = { text: `event ${n}` };
  await (await send(gateway, "/hooks/wake", body, { token: WEBHOOK_TOKEN })).text();
}

async function agentTurn(gateway: SoakGateway, n: number): Promise<void> {
  const body = { message: "Do it.", session: `s${n % 20}`, wait: true };
  await (await send(gateway, "/agent", body)).text();
}

async function openPage(gateway: SoakGateway): Promise<void> {
  const control = { url: await gateway.browserUrl(), token: gateway.token };
  const opened = await send(control, "/tabs/open", { url: "about:blank" });
  const { targetId } = (await opened.json()) as { targetId: string };
  const headers = { authorization: `Bearer ${control.token}` };
  const snapshot = await fetch(`${control.url}/snapshot?targetId=${targetId}`, { headers });
  await snapshot.text();
  await fetch(`${control.url}/tabs/${targetId}`, { method: "DELETE", headers });
}

async function saveHook(gateway: SoakGateway, n: number): Promise<void> {
  for (const [path, text] of Object.entries(HOOK_FILES(n))) gateway.write(path, text);
}
