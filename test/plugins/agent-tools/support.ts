/** Calls a tool as the agent does: in a turn, by a model that wants to. */
import { removeFences } from "../../support/fence.ts";
import { askAsKey, callWebhook, secretOfWebhook } from "../../support/principals.ts";
import { call, lastOf, type ScriptedGateway } from "../agent/scripted.ts";

/** The result as the model reads it, without the marks. */
export async function useTool(
  gateway: ScriptedGateway,
  name: string,
  args: unknown,
  turn: Record<string, unknown> = {},
): Promise<string> {
  const body = { message: "go", wait: true, session: "tools", ...turn };
  let result = "";
  gateway.script((request, { sessionKey }) => {
    // What the tool has started in another session runs at the same time.
    if (sessionKey !== body.session) return "done";
    if (request.messages.at(-1)?.role !== "tool") return call(name, args);
    result = removeFences(lastOf(request));
    return "done";
  });
  await gateway.json("POST", "/agent", body);
  return result;
}

/**
 * The same in a turn that another than the owner has caused, with its own credential: a client key through chat, a
 * webhook key through `POST /hooks/agent`. What it answers where the turn has no such tool begins with `Error: there is
 * no tool`.
 */
export async function useToolAs(
  gateway: ScriptedGateway,
  { key, webhook, session }: { key?: string; webhook?: string; session?: string },
  name: string,
  args: unknown,
): Promise<string> {
  let result = "";
  let hasCalled = false;
  gateway.script((request) => {
    if (request.messages.at(-1)?.role === "tool") result = removeFences(lastOf(request));
    if (hasCalled) return "done";
    hasCalled = true;
    return call(name, args);
  });
  if (key !== undefined) await askAsKey(gateway, key, "go", session);
  if (webhook === undefined) return result;
  const request = { message: "go", wait: true, session };
  const { status, body } = await callWebhook(gateway, "agent", secretOfWebhook(webhook), request);
  if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return result;
}
