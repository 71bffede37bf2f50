/** Which models a key may use. */
import { fitsPattern } from "portico/strings";
import type { WantedModel } from "portico/chat";

/**
 * A pattern holds for the name that the client gives, and without a slash in it also for `<channel>/<name>`. Models with
 * tools of their own (the agent's) must be named besides, by whatever name the client comes to them: neither leaving
 * `models` out, nor a `*` in place of the name, nor an alias or channel that leads to one gives it away.
 */
export function mayUse(
  patterns: readonly string[] | undefined,
  { model, acting }: WantedModel,
): boolean {
  if (patterns === undefined) return acting.length === 0;
  const direct = acting.includes(model);
  return (
    patterns.some((pattern) => (direct ? fitsPattern(pattern, model) : fits(pattern, model))) &&
    acting.every((name) => patterns.some((pattern) => names(pattern, name)))
  );
}

function fits(pattern: string, model: string): boolean {
  if (fitsPattern(pattern, model)) return true;
  const slash = model.indexOf("/");
  return slash !== -1 && !pattern.includes("/") && fitsPattern(pattern, model.slice(slash + 1));
}

/** Its first `*`, if any, stands behind the name of what acts. */
function names(pattern: string, acting: string): boolean {
  const [root = acting] = acting.split("/");
  return fitsPattern(pattern, acting) && pattern.startsWith(root);
}
