/** `GET /tools`: lists the tools and what a principal may use. */
import { partsOf, type Principal, principalNamed, readPrincipal } from "portico";
import { errors } from "../errors.ts";
import { type Access, isKindOfPrincipal } from "../access/access.ts";
import { type AgentContext, MAIN_AGENT } from "../context.ts";
import { patternsFor } from "../turns/confirmation.ts";
import { selectAllowedTools } from "../turns/tools.ts";
import { agentRoutes } from "./routes-schema.ts";

export function mountTools(agent: AgentContext): void {
  const { ctx } = agent;
  ctx.route("GET", "/tools", agentRoutes.tools, async (call) => {
    const principal = parsePrincipal(call.query.get("as") ?? "owner");
    const access = await agent.access(principal);
    if (!access.isKnown)
      throw errors.unknownPrincipal({ principal: describePrincipal(principal) }, { param: "as" });
    const agentId = call.query.get("agent") ?? MAIN_AGENT;
    const rules = agent.settings(agentId).tools;
    const all = ctx.list("tool");
    const usable = selectAllowedTools(all, rules, access);
    const tools = [...new Map(all.map((tool) => [tool.name, tool])).values()].map((tool) => ({
      name: tool.name,
      description: tool.description,
      origin: tool.origin,
      principals: ["owner", ...(tool.principals ?? [])],
      allowed: usable.has(tool.name),
      confirm: patternsFor(rules.confirm, tool.name),
    }));
    return { principal, agent: agentId, tools, reach: reachOf(access) };
  });
}

/** Describes what the principal's tools reach, in the terms of the settings. */
function reachOf({ isOwner, browser, network, sessions, workspaceFiles, mayAnnounce }: Access) {
  return {
    files: isOwner ? ("workspace" as const) : ("own" as const),
    workspaceFiles,
    browser,
    network,
    sessions,
    announce: mayAnnounce,
  };
}

function parsePrincipal(text: string): Principal {
  const principal = readPrincipal(text);
  if (principal !== undefined) return principal;
  // The name may be as the configuration writes it, with characters that a principal escapes.
  const colon = text.indexOf(":");
  const kind = text.slice(0, colon);
  const name = text.slice(colon + 1);
  if (isKindOfPrincipal(kind) && name !== "") return principalNamed(kind, name);
  throw errors.notAPrincipal({ text: JSON.stringify(text) }, { param: "as" });
}

function describePrincipal(principal: Principal): string {
  const { kind, name } = partsOf(principal) ?? { kind: principal, name: "" };
  const nouns: Record<string, string> = {
    key: "client key",
    webhook: "webhook key or mapping",
    poll: "poll",
    user: "user",
  };
  return `${nouns[kind] ?? kind} named ${JSON.stringify(name)}`;
}
