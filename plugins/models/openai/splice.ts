/** Inserts the upstream's name of the model into the caller's bytes, which avoids serialising the request again. */
import { type ChatRequest, stringifyExact } from "portico/provider";
import { eachMember, latin1Of, type RawBody } from "./members.ts";

/** Returns the caller's bytes with another model; serialised again only if the position of the name is ambiguous. */
export function sendableBytes(raw: RawBody, request: ChatRequest, model: string): RawBody {
  if (request.model === model) return raw;
  const { oldLiteral, newLiteral, head } = literalsOf(request.model, model);
  const text = latin1Of(raw);
  const from = text.slice(0, head.length) === head ? HEAD.length : findModel(oldLiteral, text);
  if (from === -1) return Buffer.from(stringifyExact({ ...request, model }));
  const to = from + oldLiteral.length;
  if (typeof raw === "string") return raw.slice(0, from) + newLiteral + raw.slice(to);
  const inserted = Buffer.from(newLiteral, "latin1");
  return Buffer.concat([raw.subarray(0, from), inserted, raw.subarray(to)]);
}

/** The beginning of most bodies. */
const HEAD = '{"model":';
const KEY = '"model"';

/** Two names as JSON literals, one character per byte, and the usual beginning of a body with the old one. */
interface Literals {
  from: string;
  to: string;
  oldLiteral: string;
  newLiteral: string;
  head: string;
}

/** The last literals, since the next request mostly needs the same ones. */
let lastLiterals: Literals | undefined;

function literalsOf(from: string, to: string): Literals {
  if (lastLiterals?.from === from && lastLiterals.to === to) return lastLiterals;
  const oldLiteral = literalOf(from);
  lastLiterals = { from, to, oldLiteral, newLiteral: literalOf(to), head: HEAD + oldLiteral };
  return lastLiterals;
}

function literalOf(model: string): string {
  return Buffer.from(JSON.stringify(model)).toString("latin1");
}

/** Returns the position of the literal as the value of `model`; -1 if it is uncertain. */
function findModel(literal: string, text: string): number {
  let end = -1;
  eachMember(text, (from, to, depth) => {
    if (depth === 1 && text.slice(from, to) === KEY) end = to;
  });
  if (end === -1) return -1;
  const start = skipSpace(text, skipSpace(text, end) + 1);
  return text.startsWith(literal, start) ? start : -1;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  let code = text.charCodeAt(at);
  while (code === 32 || code === 10 || code === 13 || code === 9) code = text.charCodeAt(++at);
  return at;
}
