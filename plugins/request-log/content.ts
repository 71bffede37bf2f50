/** Whose prompts and responses are kept, and how much of them. */
import type { Client } from "portico";
import type { RequestStory } from "portico/models";
import { clip } from "portico/strings";
import type { ContentConfig } from "./schema.ts";

/** Of one text: a picture in a prompt is one too. */
const MOST_CHARACTERS = 20_000;
const MOST_MEMBERS = 1000;
const MOST_DEPTH = 12;

/** Whether a request of this client may be kept: which channel it comes to shows later. */
export function mayKeep(config: ContentConfig, client: Client): boolean {
  if (typeof config === "boolean") return config;
  return config.channels.length > 0 || config.keys.includes(client.key ?? "");
}

/** Bounds what a story that has ended holds of what was said, or lets go of it. Returns its size in bytes, about. */
export function settleContent(config: ContentConfig, story: RequestStory): number {
  const { content } = story;
  if (content === undefined) return 0;
  if (!isKept(config, story)) {
    story.forgetContent();
    return 0;
  }
  content.messages = clipped(content.messages);
  content.response = clipped(content.response);
  const changes = story.hooks.map((hook) => hook.changes);
  for (const change of changes.flat()) {
    change.before = clipped(change.before);
    change.after = clipped(change.after);
  }
  return 2 * (JSON.stringify([content, changes]) ?? "").length;
}

function isKept(config: ContentConfig, { client, tries }: RequestStory): boolean {
  if (typeof config === "boolean") return config;
  if (config.keys.includes(client.key ?? "")) return true;
  return tries.some(({ channel, isSkipped }) => !isSkipped && config.channels.includes(channel));
}

/** The same value with its texts, lists and depth bounded. */
function clipped(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return clip(value, MOST_CHARACTERS);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MOST_DEPTH) return "…";
  if (Array.isArray(value))
    return value.slice(0, MOST_MEMBERS).map((member) => clipped(member, depth + 1));
  const members = Object.entries(value).slice(0, MOST_MEMBERS);
  return Object.fromEntries(members.map(([name, member]) => [name, clipped(member, depth + 1)]));
}
