/** Credentials and turns of principals other than the owner. */
import { createHash } from "node:crypto";
import type { TestGateway } from "./gateway.ts";

/** Returns a client key for the configuration. Its secret derives from its name. */
export function clientKey(name: string, entry: Record<string, unknown> = {}) {
  const hash = createHash("sha256").update(secretOfKey(name)).digest("hex");
  return { [name]: { hash: `sha256:${hash}`, models: ["agent", "agent/*", "*"], ...entry } };
}

export function secretOfKey(name: string): string {
  return `pk_test_${name}`;
}

export function webhookKey(name: string, entry: Record<string, unknown> = {}) {
  return { [name]: { token: secretOfWebhook(name), ...entry } };
}

export function secretOfWebhook(name: string): string {
  return `webhook-token-of-${name}`;
}

/** Sends a message to the agent with a client key. Resolves with the text of the answer. */
export async function askAsKey(
  gateway: TestGateway,
  name: string,
  content: string,
  session?: string,
): Promise<string> {
  const response = await gateway.request(
    "POST",
    "/v1/chat/completions",
    { model: "agent", messages: [{ role: "user", content }] },
    {
      token: secretOfKey(name),
      headers: session === undefined ? {} : { "x-portico-session": session },
    },
  );
  const body = (await response.json()) as { choices?: { message: { content: string } }[] };
  if (!response.ok) throw new Error(`${response.status}: ${JSON.stringify(body)}`);
  return body.choices?.[0]?.message.content ?? "";
}

/** Starts a turn at a webhook endpoint, and returns the response. `path` is `agent` or the name of a mapping. */
export async function callWebhook(
  gateway: TestGateway,
  path: string,
  token: string,
  body: Record<string, unknown>,
): Promise<{ status: number; body: Record<string, any> }> {
  const response = await gateway.request("POST", `/hooks/${path}`, body, { token });
  return { status: response.status, body: (await response.json()) as Record<string, any> };
}
