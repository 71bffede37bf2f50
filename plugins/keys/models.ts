/** Decides which models a key may use. */
import { fitsPattern } from "portico/strings";
import type { WantedModel } from "portico/models";

/**
 * Returns true if the patterns allow a model. A pattern without a slash matches aliases, and a model's name on any channel,
 * but never a channel's name. `<channel>/<pattern>` matches models of that channel if the client names the channel. Models
 * with their own tools (the agent's) must also be named explicitly, whatever name the client uses: an absent `models`, a `*`
 * in place of the name, or an alias or channel that leads to such a model does not allow it.
 */
export function mayUse(
  patterns: readonly string[] | undefined,
  { model, channel, acting }: WantedModel,
): boolean {
  if (patterns === undefined) return acting.length === 0;
  const isDirect = acting.includes(model);
  return (
    patterns.some((pattern) =>
      isDirect ? fitsPattern(pattern, model) : matchesModel(pattern, model, channel),
    ) && acting.every((name) => patterns.some((pattern) => namesExplicitly(pattern, name)))
  );
}

function matchesModel(pattern: string, model: string, channel: string | undefined): boolean {
  if (channel === undefined) return fitsPattern(pattern, model);
  const modelName = model.slice(channel.length + 1);
  if (pattern.startsWith(`${channel}/`))
    return fitsPattern(pattern.slice(channel.length + 1), modelName);
  const slash = pattern.indexOf("/");
  if (slash === -1) return fitsPattern(pattern, modelName);
  return (
    fitsPattern(pattern.slice(0, slash), channel) &&
    fitsPattern(pattern.slice(slash + 1), modelName)
  );
}

/** Returns true if the pattern matches and spells out the root of the acting name. */
function namesExplicitly(pattern: string, acting: string): boolean {
  const [root = acting] = acting.split("/");
  return fitsPattern(pattern, acting) && pattern.startsWith(root);
}
