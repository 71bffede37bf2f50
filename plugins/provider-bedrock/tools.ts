import { type Block, cachePoint } from "./messages.ts";
import { type ClaudeModel, type Fields, strictSchema, type ToolUse } from "portico/provider";

const NO_PARAMETERS = { type: "object", properties: {} };

/**
 * Encodes `toolConfig`. Converse has no choice "none": tools are omitted in that case, unless the history has calls, whose
 * tools Converse requires to be declared.
 */
export function encodeTools(
  use: ToolUse,
  calledNames: readonly string[],
  fields: Fields,
  claude: ClaudeModel | undefined,
  extra: Record<string, unknown>,
): { config: Record<string, unknown> | undefined; forced: boolean } {
  const parallel = fields.boolean("parallel_tool_calls");
  const tools = use.tools.flatMap((tool) => toolBlocks(tool, fields, claude));
  if (tools.length === 0 || use.choice?.kind === "none")
    return { config: withoutCalling(tools, calledNames, fields), forced: false };
  const choice = supportedChoice(use.choice, fields, claude);
  const forced = isForced(choice);
  if (parallel === false) {
    // Only Claude has a field for it, and only together with `auto`.
    if (claude === undefined || forced) fields.drop("parallel_tool_calls");
    else extra.tool_choice = { type: "auto", disable_parallel_tool_use: true };
  }
  return { config: { tools, toolChoice: encodeChoice(choice) }, forced };
}

function toolBlocks(
  tool: ToolUse["tools"][number],
  fields: Fields,
  claude: ClaudeModel | undefined,
): Block[] {
  const isStrict = tool.strict && claude?.schemas === true;
  if (tool.strict && !isStrict) fields.drop(`${tool.path}.function.strict`);
  const plain = { type: "object", ...(tool.parameters ?? NO_PARAMETERS) };
  const schema = isStrict ? strictSchema(plain) : plain;
  return [toolSpec(tool.name, schema, tool.description, isStrict), ...cachePoint(tool.cache)];
}

/** Returns the tools of a request whose model may call none; undefined if they can be omitted. */
function withoutCalling(
  tools: readonly Block[],
  calledNames: readonly string[],
  fields: Fields,
): Record<string, unknown> | undefined {
  if (calledNames.length === 0) return undefined;
  if (tools.length === 0)
    return { tools: [...new Set(calledNames)].map((name) => toolSpec(name, NO_PARAMETERS)) };
  fields.drop("tool_choice");
  return { tools };
}

type Choice = ToolUse["choice"];

const isForced = (choice: Choice): boolean =>
  choice?.kind === "required" || choice?.kind === "named";

/** Returns the choice, or `auto` for a model that cannot be forced to call a tool. */
function supportedChoice(choice: Choice, fields: Fields, claude: ClaudeModel | undefined): Choice {
  if (!isForced(choice) || claude?.forcedTools !== false) return choice;
  fields.drop("tool_choice");
  return { kind: "auto" };
}

function encodeChoice(choice: Choice): object | undefined {
  if (choice?.kind === "auto") return { auto: {} };
  if (choice?.kind === "required") return { any: {} };
  if (choice?.kind === "named") return { tool: { name: choice.name } };
  return undefined;
}

function toolSpec(
  name: string,
  schema: Record<string, unknown>,
  description?: string,
  strict = false,
): Block {
  const nonEmpty = description === "" ? undefined : description;
  return {
    toolSpec: {
      name,
      description: nonEmpty,
      inputSchema: { json: schema },
      strict: strict || undefined,
    },
  };
}
