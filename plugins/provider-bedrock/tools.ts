import { type Block, cachePoint } from "./messages.ts";
import { type ClaudeModel, type Fields, strictSchema, type ToolUse } from "portico/provider";

const NOTHING = { type: "object", properties: {} };

/**
 * `toolConfig`. Converse knows no "none": tools are left out then, unless the history has calls, for which it wants the
 * tools declared.
 */
export function encodeTools(
  use: ToolUse,
  called: readonly string[],
  fields: Fields,
  claude: ClaudeModel | undefined,
  extra: Record<string, unknown>,
): { config: Record<string, unknown> | undefined; forced: boolean } {
  const parallel = fields.boolean("parallel_tool_calls");
  const tools = use.tools.flatMap((tool) => {
    const strict = tool.strict && claude?.schemas === true;
    if (tool.strict && !strict) fields.drop(`${tool.path}.function.strict`);
    const schema = { type: "object", ...(tool.parameters ?? NOTHING) };
    const given = strict ? strictSchema(schema) : schema;
    return [toolSpec(tool.name, given, tool.description, strict), ...cachePoint(tool.cache)];
  });
  if (tools.length === 0 || use.choice?.kind === "none") {
    if (called.length === 0) return { config: undefined, forced: false };
    if (tools.length > 0) fields.drop("tool_choice");
    const declared =
      tools.length > 0 ? tools : [...new Set(called)].map((name) => toolSpec(name, NOTHING));
    return { config: { tools: declared }, forced: false };
  }
  let choice = use.choice;
  if ((choice?.kind === "required" || choice?.kind === "named") && claude?.forcedTools === false) {
    fields.drop("tool_choice");
    choice = { kind: "auto" };
  }
  const forced = choice?.kind === "required" || choice?.kind === "named";
  if (parallel === false) {
    // Only Claude can be told, by a field of its own, and only beside `auto`.
    if (claude === undefined || forced) fields.drop("parallel_tool_calls");
    else extra.tool_choice = { type: "auto", disable_parallel_tool_use: true };
  }
  const toolChoice = {
    auto: { auto: {} },
    none: undefined,
    required: { any: {} },
    named: { tool: { name: choice?.kind === "named" ? choice.name : "" } },
  }[choice?.kind ?? "none"];
  return { config: { tools, toolChoice }, forced };
}

function toolSpec(
  name: string,
  schema: Record<string, unknown>,
  description?: string,
  strict = false,
): Block {
  const shown = description === "" ? undefined : description;
  return {
    toolSpec: {
      name,
      description: shown,
      inputSchema: { json: schema },
      strict: strict || undefined,
    },
  };
}
