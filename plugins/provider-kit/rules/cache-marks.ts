/** Removes marks of prompt caching (`cache_control`) for targets that do not support them. */
import { eachPart } from "./images.ts";
import { isSystem } from "./texts.ts";
import { eachMessage } from "./tool-ids.ts";
import { isObject } from "../request/is-object.ts";
import { eachTool } from "./tools.ts";
import type { JsonObject } from "../request/read-value.ts";
import type { RequestRule, RuleMessage, RuleNotes, RuleTarget } from "../types/rules.ts";

const MARKS = ["cache_control", "prompt_cache_breakpoint"];

interface CacheMarkOptions {
  /** Removes marks only from tools; messages may have marks. */
  toolsOnly?: boolean;
  /** Applies only to requests that the gateway has translated. Requests of the client's own format are not changed. */
  translatedOnly?: boolean;
  only?: { readonly where: string; test(target: RuleTarget): boolean };
}

/** Removes marks from tools, messages, parts and calls, and records each. */
export function noCacheMarks(options: CacheMarkOptions = {}): RequestRule {
  const { toolsOnly = false, translatedOnly = false, only } = options;
  const demand = toolsOnly
    ? "Tools must not have cache marks (`cache_control`)."
    : "Requests must not have cache marks (`cache_control`).";
  return {
    name: toolsOnly ? "no-cache-marks-on-tools" : "no-cache-marks",
    demand,
    remedy: `Leaves \`cache_control\` out${translatedOnly ? " of translated requests" : ""}, and names it in the header \`x-portico-dropped\`.`,
    ...(only && { only }),
    chat(request, notes) {
      if (translatedOnly && !notes.isTranslated) return request;
      const withTools = eachTool(request, (tool, place) => unmarkTool(tool, place, notes));
      if (toolsOnly) return withTools;
      return eachMessage(withTools, (message, place) => unmarkMessage(message, place, notes));
    },
  };
}

function unmarkTool(tool: JsonObject, place: string, notes: RuleNotes): JsonObject {
  const unmarked = unmark(tool, place, notes);
  const fn = unmarked["function"];
  if (!isObject(fn)) return unmarked;
  const unmarkedFunction = unmark(fn, `${place}.function`, notes);
  return unmarkedFunction === fn ? unmarked : { ...unmarked, function: unmarkedFunction };
}

function unmarkMessage(message: RuleMessage, place: string, notes: RuleNotes): RuleMessage {
  const withoutMark = unmark(message, place, notes) as RuleMessage;
  const withParts = eachPart(withoutMark, place, (part, at) => unmark(part, at, notes));
  const unmarked = unmarkCalls(withParts, place, notes);
  if (unmarked === message || !notes.isTranslated) return unmarked;
  return { ...unmarked, content: plainContent(unmarked) };
}

function unmarkCalls(message: RuleMessage, place: string, notes: RuleNotes): RuleMessage {
  const calls = message["tool_calls"];
  if (!Array.isArray(calls)) return message;
  const unmarked = calls.map((call, i) =>
    isObject(call) ? unmark(call, `${place}.tool_calls[${i}]`, notes) : call,
  );
  const isSame = unmarked.every((call, i) => call === calls[i]);
  return isSame ? message : { ...message, tool_calls: unmarked };
}

function unmark(object: JsonObject, place: string, notes: RuleNotes): JsonObject {
  const marks = MARKS.filter((name) => object[name] != null);
  if (marks.length === 0) return object;
  const unmarked = { ...object };
  for (const name of marks) {
    notes.drop(`${place}.${name}`);
    delete unmarked[name];
  }
  return unmarked;
}

/** Joins texts that were parts only because of their marks, because every server accepts a string. */
function plainContent(message: RuleMessage): unknown {
  const { content } = message;
  if (!Array.isArray(content)) return content;
  const texts = content.map((part: JsonObject) =>
    part["type"] === "text" ? (part["text"] as string) : undefined,
  );
  if (texts.length === 0 || texts.includes(undefined)) return content;
  const mayJoin = texts.length === 1 || message.role !== "user";
  return mayJoin ? texts.join(isSystem(message) ? "\n\n" : "\n") : content;
}
