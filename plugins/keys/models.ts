/** Which models a key may use. */
import { fitsPattern } from "portico";
import type { WantedModel } from "portico/chat";

/**
 * A pattern holds for the name that the client gives, and without a slash in it also for `<channel>/<name>`. The agent
 * has tools, so it must be named: neither leaving `models` out nor a bare `*` gives it away.
 */
export function mayUse(patterns: readonly string[] | undefined, { model, leadsTo }: WantedModel): boolean {
  const needsName = isAgent(model) || leadsTo.some(isAgent);
  if (patterns === undefined) return !needsName;
  return patterns.some((pattern) => !(needsName && pattern === "*") && fits(pattern, model));
}

function isAgent(model: string): boolean {
  return model === "agent" || model.startsWith("agent/");
}

function fits(pattern: string, model: string): boolean {
  if (fitsPattern(pattern, model)) return true;
  const slash = model.indexOf("/");
  return slash !== -1 && !pattern.includes("/") && !isAgent(model) && fitsPattern(pattern, model.slice(slash + 1));
}
