/** Which models a key may use. */
import { fitsPattern } from "portico/strings";
import type { WantedModel } from "portico/models";

/**
 * A pattern without a slash holds for aliases and for a model's own name, on whatever channel; never for a channel's name,
 * which it may resemble. `<channel>/<pattern>` holds for the models of that channel where the client names it. Models with
 * tools of their own (the agent's) must be named besides, by whatever name the client comes to them: neither leaving
 * `models` out, nor a `*` in place of the name, nor an alias or channel that leads to one gives it away.
 */
export function mayUse(
  patterns: readonly string[] | undefined,
  { model, channel, acting }: WantedModel,
): boolean {
  if (patterns === undefined) return acting.length === 0;
  const direct = acting.includes(model);
  return (
    patterns.some((pattern) =>
      direct ? fitsPattern(pattern, model) : fits(pattern, model, channel),
    ) && acting.every((name) => patterns.some((pattern) => names(pattern, name)))
  );
}

function fits(pattern: string, model: string, channel: string | undefined): boolean {
  if (channel === undefined) return fitsPattern(pattern, model);
  const own = model.slice(channel.length + 1);
  if (pattern.startsWith(`${channel}/`)) return fitsPattern(pattern.slice(channel.length + 1), own);
  const slash = pattern.indexOf("/");
  if (slash === -1) return fitsPattern(pattern, own);
  return (
    fitsPattern(pattern.slice(0, slash), channel) && fitsPattern(pattern.slice(slash + 1), own)
  );
}

/** Whether the pattern matches, and spells the root of the acting name before its first `*`. */
function names(pattern: string, acting: string): boolean {
  const [root = acting] = acting.split("/");
  return fitsPattern(pattern, acting) && pattern.startsWith(root);
}
