/** Decides which prompts and responses are recorded, and limits their size. */
import type { Client } from "portico";
import type { RequestStory } from "portico/models";
import { clip } from "portico/strings";
import type { ContentConfig } from "./schema.ts";

/** The length of one text, which may be an image in a prompt. */
const MAX_CHARACTERS = 20_000;
const MAX_MEMBERS = 1000;
const MAX_DEPTH = 12;

/** Returns true if the content of this client's request may be recorded: its channel is known only later. */
export function mayKeep(config: ContentConfig, client: Client): boolean {
  if (typeof config === "boolean") return config;
  return config.channels.length > 0 || config.keys.includes(client.key ?? "");
}

/** Limits the content of an ended request, or removes it. Returns its approximate size in bytes. */
export function settleContent(config: ContentConfig, story: RequestStory): number {
  const { content } = story;
  if (content === undefined) return 0;
  if (!isRecorded(config, story)) {
    story.forgetContent();
    return 0;
  }
  content.messages = clipDeep(content.messages);
  content.response = clipDeep(content.response);
  const changes = story.hooks.map((hook) => hook.changes);
  for (const change of changes.flat()) {
    change.before = clipDeep(change.before);
    change.after = clipDeep(change.after);
  }
  return 2 * (JSON.stringify([content, changes]) ?? "").length;
}

function isRecorded(config: ContentConfig, { client, tries }: RequestStory): boolean {
  if (typeof config === "boolean") return config;
  if (config.keys.includes(client.key ?? "")) return true;
  return tries.some(({ channel, isSkipped }) => !isSkipped && config.channels.includes(channel));
}

/** Copies a value with its texts, lists and depth limited. */
function clipDeep(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return clip(value, MAX_CHARACTERS);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return "…";
  if (Array.isArray(value))
    return value.slice(0, MAX_MEMBERS).map((member) => clipDeep(member, depth + 1));
  const members = Object.entries(value).slice(0, MAX_MEMBERS);
  return Object.fromEntries(members.map(([name, member]) => [name, clipDeep(member, depth + 1)]));
}
