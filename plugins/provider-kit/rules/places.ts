/**
 * Tracks where the elements of a request were in the client's own request, while translations rename them and rules insert
 * and move messages, so that headers and errors can name the client's paths.
 */
import type { RuleChat, RuleMessage } from "../types/rules.ts";

/** Members of an element that the client's request names differently: the path within the element → the client's path. */
export type RenamedMembers = Readonly<Record<string, string>>;

/** The place of an element in the client's request. */
interface Source {
  path: string;
  renamed: RenamedMembers;
}

/** A symbol, because spreading copies it and JSON omits it. */
const SOURCE = Symbol("path in the client's request");

interface Marked {
  [SOURCE]?: Source;
}

const NONE: RenamedMembers = {};

/**
 * Returns a copy of a request, a message, a part, a call or a tool that records its path in the client's request
 * (`input[1]`). An empty path is the request itself.
 */
export function withSource<Element extends object>(
  element: Element,
  path: string,
  renamed: RenamedMembers = NONE,
): Element {
  return { ...element, [SOURCE]: { path, renamed } };
}

/** Returns the messages, each of which records its present place if it has no source yet. */
export function rememberPlaces(messages: readonly RuleMessage[]): RuleMessage[] {
  return messages.map((message, i) =>
    sourceOf(message) === undefined ? withSource(message, `messages[${i}]`) : message,
  );
}

/** Returns the request with a message inserted at index `at`. */
export function insertMessage(request: RuleChat, at: number, message: RuleMessage): RuleChat {
  const messages = rememberPlaces(request.messages);
  // An error about the inserted message names the message that made it necessary.
  const source = sourceOf(messages[at] ?? messages[at - 1])?.path ?? `messages[${at}]`;
  messages.splice(at, 0, withSource(message, source));
  return { ...request, messages };
}

/** A member's name, or an index in brackets. */
const SEGMENT = /\[(\d+)\]|[^.[\]]+/g;

/** Converts a path in the changed request to the path in the client's request. */
export function sourcePath(request: object, path: string): string {
  let source = sourceOf(request);
  let rest = path;
  let element: unknown = request;
  for (const segment of path.matchAll(SEGMENT)) {
    element = (element as Record<string, unknown>)[segment[1] ?? segment[0]];
    if (typeof element !== "object" || element === null) break;
    const elementSource = sourceOf(element);
    if (elementSource === undefined) continue;
    source = elementSource;
    rest = path.slice(segment.index + segment[0].length);
  }
  return source === undefined ? path : clientPath(source, rest.replace(/^\./, ""));
}

/** `rest` is the path within the element. */
function clientPath({ path, renamed }: Source, rest: string): string {
  const name = Object.keys(renamed)
    .filter((member) => isWithin(rest, member))
    .sort((a, b) => b.length - a.length)[0];
  if (name !== undefined) return `${renamed[name]}${rest.slice(name.length)}`;
  if (path === "" || rest === "") return path + rest;
  return rest.startsWith("[") ? `${path}${rest}` : `${path}.${rest}`;
}

function isWithin(path: string, member: string): boolean {
  return path === member || path.startsWith(`${member}.`) || path.startsWith(`${member}[`);
}

function sourceOf(element: unknown): Source | undefined {
  return (element as Marked | undefined)?.[SOURCE];
}
