/** Calls a tool as the agent does: in a turn, by a model that wants to. */
import { call, lastOf, type ScriptedGateway } from "../agent/scripted.ts";

export async function useTool(
  gateway: ScriptedGateway,
  name: string,
  args: unknown,
  turn: Record<string, unknown> = {},
): Promise<string> {
  const asked = { message: "go", wait: true, session: "tools", ...turn };
  let result = "";
  gateway.script((request, { sessionKey }) => {
    // What the tool has started in another session runs at the same time.
    if (sessionKey !== asked.session) return "done";
    if (request.messages.at(-1)?.role !== "tool") return call(name, args);
    result = lastOf(request);
    return "done";
  });
  await gateway.json("POST", "/agent", asked);
  return result;
}
