/** Marks of prompt caching (`cache_control`), for targets that have no place for them. */
import { eachPart } from "./images.ts";
import { isSystem } from "./texts.ts";
import { eachMessage } from "./tool-ids.ts";
import { isObject } from "../request/is-object.ts";
import { eachTool } from "./tools.ts";
import type { JsonObject } from "../request/read-value.ts";
import type { RequestRule, RuleMessage, RuleNotes, RuleTarget } from "../types/rules.ts";

const MARKS = ["cache_control", "prompt_cache_breakpoint"];

interface CacheMarkOptions {
  /** Tools only: messages may bear marks. */
  toolsOnly?: boolean;
  /** Only in requests that the gateway has translated; a client of this format gets what it writes. */
  translatedOnly?: boolean;
  only?: { readonly where: string; test(target: RuleTarget): boolean };
}

/** Leaves out marks on tools, messages, parts and calls, and names each. */
export function noCacheMarks(options: CacheMarkOptions = {}): RequestRule {
  const { toolsOnly = false, translatedOnly = false, only } = options;
  const where = toolsOnly ? "Tools have no cache marks." : "There are no cache marks.";
  return {
    name: toolsOnly ? "no-cache-marks-on-tools" : "no-cache-marks",
    demand: where,
    remedy: `Leaves \`cache_control\` out${translatedOnly ? " of translated requests" : ""}, and names it in \`x-portico-dropped\`.`,
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
  const bare = unmark(tool, place, notes);
  const fn = bare["function"];
  if (!isObject(fn)) return bare;
  const bareFunction = unmark(fn, `${place}.function`, notes);
  return bareFunction === fn ? bare : { ...bare, function: bareFunction };
}

function unmarkMessage(message: RuleMessage, place: string, notes: RuleNotes): RuleMessage {
  const own = unmark(message, place, notes) as RuleMessage;
  const bare = eachPart(own, place, (part, at) => unmark(part, at, notes));
  const withCalls = unmarkCalls(bare, place, notes);
  if (withCalls === message || !notes.isTranslated) return withCalls;
  return { ...withCalls, content: plainContent(withCalls) };
}

function unmarkCalls(message: RuleMessage, place: string, notes: RuleNotes): RuleMessage {
  const calls = message["tool_calls"];
  if (!Array.isArray(calls)) return message;
  const bare = calls.map((call, i) =>
    isObject(call) ? unmark(call, `${place}.tool_calls[${i}]`, notes) : call,
  );
  return bare.every((call, i) => call === calls[i]) ? message : { ...message, tool_calls: bare };
}

function unmark(object: JsonObject, place: string, notes: RuleNotes): JsonObject {
  const marks = MARKS.filter((name) => object[name] != null);
  if (marks.length === 0) return object;
  const bare = { ...object };
  for (const name of marks) {
    notes.drop(`${place}.${name}`);
    delete bare[name];
  }
  return bare;
}

/** Texts were sent as parts only because of their marks. Every server accepts a string. */
function plainContent(message: RuleMessage): unknown {
  const { content } = message;
  if (!Array.isArray(content)) return content;
  const texts = content.map((part: JsonObject) =>
    part["type"] === "text" ? (part["text"] as string) : undefined,
  );
  if (texts.length === 0 || texts.includes(undefined)) return content;
  const isWhole = texts.length === 1 || message.role !== "user";
  return isWhole ? texts.join(isSystem(message) ? "\n\n" : "\n") : content;
}
