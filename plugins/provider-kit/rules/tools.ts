/** Tools as providers take them. */
import { isObject } from "../request/is-object.ts";
import { asToolSchema } from "./tool-schema.ts";
import type { JsonObject } from "../request/read-value.ts";
import type { RequestRule, RuleNotes, RuleTarget } from "../types/rules.ts";

interface SchemaRuleOptions {
  only?: RequestRule["only"];
  /** Members that are allowed at the root of a schema; absent: any. */
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
      "The schema of a tool is an object at its root, without `anyOf`, `oneOf`, `allOf` or `$ref` there, and no keyword is `null`.",
    remedy:
      "Sets the type, leaves out nulls, follows a reference, and folds alternatives into the root: properties are merged, and the tool's description states the choice.",
    ...(only && { only }),
    chat(request, notes) {
      return eachTool(request, (tool, place) => {
        const fn = tool["function"] as JsonObject | null | undefined;
        const given = fn?.["parameters"];
        if (fn == null || !isObject(given)) return tool;
        const { schema, constraint } = fit(given, notes);
        if (schema === given) return tool;
        if (isWorthNaming(given, schema)) notes.change(`${place}.function.parameters`);
        return { ...tool, function: { ...described(fn, constraint), parameters: schema } };
      });
    },
    messages(request, notes) {
      return eachTool(request, (tool, place) => {
        const given = tool["input_schema"];
        if (!isObject(given)) return tool;
        const { schema, constraint } = fit(given, notes);
        if (schema === given) return tool;
        notes.change(`${place}.input_schema`);
        return { ...described(tool, constraint), input_schema: schema };
      });
    },
  };
}

/** An empty schema and that of an empty object mean the same. */
function isWorthNaming(given: JsonObject, schema: JsonObject): boolean {
  return Object.keys(given).length > 0 || Object.keys(schema).length > 1;
}

function described(tool: JsonObject, constraint: string | undefined): JsonObject {
  if (constraint === undefined) return tool;
  const description = tool["description"];
  const own = typeof description === "string" && description !== "" ? `${description}\n\n` : "";
  return { ...tool, description: own + constraint };
}

function onlyMembers(schema: JsonObject, names: readonly string[]): JsonObject {
  const kept = Object.entries(schema).filter(([name]) => names.includes(name));
  return kept.length === Object.keys(schema).length ? schema : Object.fromEntries(kept);
}

/** The request with each tool as `change` returns it; the same request where all stay the same. */
export function eachTool<Request extends JsonObject>(
  request: Request,
  change: (tool: JsonObject, place: string) => JsonObject,
): Request {
  const tools = request["tools"];
  if (!Array.isArray(tools)) return request;
  const changed = tools.map((tool, i) => (isObject(tool) ? change(tool, `tools[${i}]`) : tool));
  return changed.every((tool, i) => tool === tools[i]) ? request : { ...request, tools: changed };
}
