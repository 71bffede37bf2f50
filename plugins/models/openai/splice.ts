/** Puts the upstream's name of the model into the caller's own bytes, which avoids serialising the request again. */
import { type ChatRequest, stringifyExact } from "portico/provider";
import { eachMember, latin1Of, type RawBody } from "./members.ts";

/** The caller's bytes with another model; serialised again only if the position of the name is ambiguous. */
export function sendableBytes(raw: RawBody, request: ChatRequest, model: string): RawBody {
  if (request.model === model) return raw;
  const { old, put, head } = literalsOf(request.model, model);
  const text = latin1Of(raw);
  const from = text.slice(0, head.length) === head ? HEAD.length : placeOf(old, text);
  if (from === -1) return Buffer.from(stringifyExact({ ...request, model }));
  const to = from + old.length;
  if (typeof raw === "string") return raw.slice(0, from) + put + raw.slice(to);
  return Buffer.concat([raw.subarray(0, from), Buffer.from(put, "latin1"), raw.subarray(to)]);
}

/** As most clients begin theirs. */
const HEAD = '{"model":';
const KEY = '"model"';

/** Two names as they stand in JSON, a character for each byte; and how a body with the old one mostly begins. */
interface Literals {
  from: string;
  to: string;
  old: string;
  put: string;
  head: string;
}

/** The last ones: most often the next ones too. */
let last: Literals | undefined;

function literalsOf(from: string, to: string): Literals {
  if (last?.from === from && last.to === to) return last;
  const old = literalOf(from);
  last = { from, to, old, put: literalOf(to), head: HEAD + old };
  return last;
}

function literalOf(model: string): string {
  return Buffer.from(JSON.stringify(model)).toString("latin1");
}

/** Where the literal stands as the model; -1 where that is in doubt. */
function placeOf(literal: string, text: string): number {
  let end = -1;
  eachMember(text, (from, to, depth) => {
    if (depth === 1 && text.slice(from, to) === KEY) end = to;
  });
  if (end === -1) return -1;
  const start = afterSpace(text, afterSpace(text, end) + 1);
  return text.startsWith(literal, start) ? start : -1;
}

function afterSpace(text: string, from: number): number {
  let at = from;
  let code = text.charCodeAt(at);
  while (code === 32 || code === 10 || code === 13 || code === 9) code = text.charCodeAt(++at);
  return at;
}
