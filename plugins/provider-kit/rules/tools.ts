/** Adapts the schemas of tools to the demands of providers. */
import { isObject } from "../request/is-object.ts";
import { asToolSchema } from "./tool-schema.ts";
import type { JsonObject } from "../request/read-value.ts";
import type { RequestRule, RuleNotes, RuleTarget } from "../types/rules.ts";

interface SchemaRuleOptions {
  only?: RequestRule["only"];
  /** The members that are allowed at the root of a schema. Absent: any. */
  rootMembers?: { readonly names: readonly string[]; test(target: RuleTarget): boolean };
}

/** Claude: "input_schema does not support oneOf, allOf, or anyOf at the top level". */
export function toolSchemas({ only, rootMembers }: SchemaRuleOptions = {}): RequestRule {
  const fit = (schema: JsonObject, notes: RuleNotes) => {
    const fitted = asToolSchema(schema);
    if (rootMembers === undefined || !rootMembers.test(notes.target)) return fitted;
    return { ...fitted, schema: onlyMembers(fitted.schema, rootMembers.names) };
  };
  return {
    name: "tool-schema",
    demand:
      "The root of a tool's schema must have the type `object` and no `anyOf`, `oneOf`, `allOf` or `$ref`. No keyword may be `null`.",
    remedy:
      "Sets the type, leaves out nulls, resolves a reference, and merges alternatives: the root gets the properties of all of them, and the tool's description explains which belong together.",
    ...(only && { only }),
    chat(request, notes) {
      return eachTool(request, (tool, place) => {
        const fn = tool["function"] as JsonObject | null | undefined;
        const original = fn?.["parameters"];
        if (fn == null || !isObject(original)) return tool;
        const { schema, constraint } = fit(original, notes);
        if (schema === original) return tool;
        if (isRelevantChange(original, schema)) notes.change(`${place}.function.parameters`);
        return { ...tool, function: { ...withConstraint(fn, constraint), parameters: schema } };
      });
    },
    messages(request, notes) {
      return eachTool(request, (tool, place) => {
        const original = tool["input_schema"];
        if (!isObject(original)) return tool;
        const { schema, constraint } = fit(original, notes);
        if (schema === original) return tool;
        notes.change(`${place}.input_schema`);
        return { ...withConstraint(tool, constraint), input_schema: schema };
      });
    },
  };
}

/** False if an empty schema became that of an empty object, which has the same meaning. */
function isRelevantChange(original: JsonObject, schema: JsonObject): boolean {
  return Object.keys(original).length > 0 || Object.keys(schema).length > 1;
}

function withConstraint(tool: JsonObject, constraint: string | undefined): JsonObject {
  if (constraint === undefined) return tool;
  const description = tool["description"];
  const prefix = typeof description === "string" && description !== "" ? `${description}\n\n` : "";
  return { ...tool, description: prefix + constraint };
}

function onlyMembers(schema: JsonObject, names: readonly string[]): JsonObject {
  const members = Object.entries(schema).filter(([name]) => names.includes(name));
  return members.length === Object.keys(schema).length ? schema : Object.fromEntries(members);
}

/** Returns the request with each tool replaced by the result of `change`; the same request if none changed. */
export function eachTool<Request extends JsonObject>(
  request: Request,
  change: (tool: JsonObject, place: string) => JsonObject,
): Request {
  const tools = request["tools"];
  if (!Array.isArray(tools)) return request;
  const changed = tools.map((tool, i) => (isObject(tool) ? change(tool, `tools[${i}]`) : tool));
  return changed.every((tool, i) => tool === tools[i]) ? request : { ...request, tools: changed };
}
