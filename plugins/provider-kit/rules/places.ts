/**
 * Remembers the places of the pieces of a request in the client's own request, while translations rename them and rules
 * insert and move messages: headers and errors name the client's paths.
 */
import type { RuleChat, RuleMessage } from "../types/rules.ts";

/** Members of a piece that have another name in the client's request: the path within the piece, and the client's path. */
export type RenamedMembers = Readonly<Record<string, string>>;

/** The place of a piece in the client's request. */
interface Source {
  path: string;
  renamed: RenamedMembers;
}

/** A symbol: copies made by spreading keep it, and JSON leaves it out. */
const SOURCE = Symbol("path in the client's request");

interface Marked {
  [SOURCE]?: Source;
}

const NONE: RenamedMembers = {};

/**
 * A copy of a request, a message, a part, a call or a tool, which remembers the path that it came from (`input[1]`). An
 * empty path is the request itself.
 */
export function withSource<Piece extends object>(
  piece: Piece,
  path: string,
  renamed: RenamedMembers = NONE,
): Piece {
  return { ...piece, [SOURCE]: { path, renamed } };
}

/** The messages, each of which remembers its present place. */
export function rememberPlaces(messages: readonly RuleMessage[]): RuleMessage[] {
  return messages.map((message, i) =>
    sourceOf(message) === undefined ? withSource(message, `messages[${i}]`) : message,
  );
}

/** The request with a message inserted before `at`. */
export function insertMessage(request: RuleChat, at: number, message: RuleMessage): RuleChat {
  const messages = rememberPlaces(request.messages);
  // An error about the inserted message is about the one that made it necessary.
  const source = sourceOf(messages[at] ?? messages[at - 1])?.path ?? `messages[${at}]`;
  messages.splice(at, 0, withSource(message, source));
  return { ...request, messages };
}

/** A member's name, or an index in brackets. */
const SEGMENT = /\[(\d+)\]|[^.[\]]+/g;

/** A path in the changed request as a path in the client's. */
export function sourcePath(request: object, path: string): string {
  let source = sourceOf(request);
  let rest = path;
  let piece: unknown = request;
  for (const segment of path.matchAll(SEGMENT)) {
    piece = (piece as Record<string, unknown>)[segment[1] ?? segment[0]];
    if (typeof piece !== "object" || piece === null) break;
    const own = sourceOf(piece);
    if (own === undefined) continue;
    source = own;
    rest = path.slice(segment.index + segment[0].length);
  }
  return source === undefined ? path : clientPath(source, rest.replace(/^\./, ""));
}

/** `rest`: the path within the piece. */
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

function sourceOf(piece: unknown): Source | undefined {
  return (piece as Marked | undefined)?.[SOURCE];
}
