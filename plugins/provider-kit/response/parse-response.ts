import { parseObject } from "../request/parse-object.ts";

const NULL = Buffer.from("null");
/** Members whose values the model has written, so that a null in them is intended. */
const MODEL_WRITTEN = new Set(["arguments", "args", "input"]);

/**
 * Parses a JSON object of an upstream (response or event) without the members that are null: some servers and proxies write
 * every member of their types, and null means the same as a missing member.
 */
export function parseResponse(body: Buffer): Record<string, unknown> | undefined {
  const value = parseObject(body);
  if (value !== undefined && body.includes(NULL)) dropNulls(value);
  return value;
}

function dropNulls(root: object): void {
  const open: object[] = [root];
  for (let holder = open.pop(); holder !== undefined; holder = open.pop()) {
    const members = holder as Record<string, unknown>;
    for (const key of Object.keys(members)) {
      const member = members[key];
      if (member === null && !Array.isArray(holder)) delete members[key];
      else if (typeof member === "object" && member !== null && !MODEL_WRITTEN.has(key))
        open.push(member);
    }
  }
}
