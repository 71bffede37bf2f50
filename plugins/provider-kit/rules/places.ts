/** Keeps track of where each message stood in the client's request while translations and rules insert and move messages. */
import type { RuleChat, RuleMessage } from "../types/rules.ts";

/** A symbol: copies made by spreading keep it, and JSON leaves it out. */
const SOURCE = Symbol("path in the client's request");

interface Marked {
  [SOURCE]?: string;
}

/** The message, which remembers the path that it came from (`messages[1]`, `system`). */
export function withSource<Message extends object>(message: Message, path: string): Message {
  return { ...message, [SOURCE]: path };
}

/** The messages, each of which remembers where it stands now. */
export function rememberPlaces(messages: readonly RuleMessage[]): RuleMessage[] {
  return messages.map((message, i) =>
    sourceOf(message) === undefined ? withSource(message, `messages[${i}]`) : message,
  );
}

/** The request with a message inserted before `at`. */
export function insertMessage(request: RuleChat, at: number, message: RuleMessage): RuleChat {
  const messages = rememberPlaces(request.messages);
  // An error about the inserted message is about the one that made it necessary.
  const source = sourceOf(messages[at] ?? messages[at - 1]) ?? `messages[${at}]`;
  messages.splice(at, 0, withSource(message, source));
  return { ...request, messages };
}

const MESSAGE = /^messages\[(\d+)\]/;
const MESSAGE_CONTENT = /^messages\[\d+\](?:\.content)?/;

/** A path in the changed request as a path in the client's. */
export function sourcePath(request: { messages?: unknown }, path: string): string {
  const at = MESSAGE.exec(path)?.[1];
  if (at === undefined || !Array.isArray(request.messages)) return path;
  const source = sourceOf(request.messages[Number(at)]);
  if (source === undefined) return path;
  // A source that is no message (`system`) is the content itself.
  return path.replace(MESSAGE.test(source) ? MESSAGE : MESSAGE_CONTENT, source);
}

function sourceOf(message: unknown): string | undefined {
  return (message as Marked | undefined)?.[SOURCE];
}
