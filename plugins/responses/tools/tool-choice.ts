/** Translates `tool_choice` into chat's form. */
import { isObject, type JsonObject, listAt, objectAt, refused, stringAt } from "portico/provider";
import type { Reading } from "../reading.ts";
import type { ToolId } from "./call-forms.ts";
import { clientKind, nameOfTool } from "./client-tools.ts";
import type { ToolTable } from "./tool-table.ts";

/** Returns the choice in chat's form; undefined if the model may choose. */
export function readToolChoice(value: unknown, tools: ToolTable, reading: Reading): unknown {
  if (value == null || value === "auto") return value ?? undefined;
  if (value === "none") return value;
  if (value === "required") {
    if (tools.functions.length === 0) refuseHosted("required", reading);
    return value;
  }
  if (!isObject(value) || typeof value["type"] !== "string")
    throw refused(
      "tool_choice",
      "`tool_choice` must be none, auto, required, a tool, or allowed_tools",
    );
  const choice: JsonObject = value;
  if (choice.type === "allowed_tools") return readAllowed(choice, tools, reading);
  const chosen = choiceOfFunction(choice, "tool_choice", tools);
  if (chosen !== undefined) return chosen;
  refuseHosted(value["type"], reading);
  return undefined;
}

/** Refuses a choice that forces the model to use a tool that only OpenAI can run. */
function refuseHosted(choice: string, reading: Reading): void {
  const message = `\`tool_choice\` demands ${JSON.stringify(choice)}, but this channel supports only functions`;
  reading.refuse("tool_choice", message);
}

function readAllowed(choice: JsonObject, tools: ToolTable, reading: Reading): unknown {
  const mode = choice.mode ?? "auto";
  const allowed = listAt(choice.tools, "tool_choice.tools").flatMap((value, i) => {
    const path = `tool_choice.tools[${i}]`;
    const chosen = choiceOfFunction(objectAt(value, path), path, tools);
    if (chosen === undefined) reading.drop(path);
    return chosen === undefined ? [] : [chosen];
  });
  if (allowed.length > 0) return { type: "allowed_tools", allowed_tools: { mode, tools: allowed } };
  if (mode === "required") refuseHosted("allowed_tools", reading);
  return "none";
}

/** Returns the choice of one function; undefined if no function stands for the tool. */
function choiceOfFunction(
  value: JsonObject,
  path: string,
  tools: ToolTable,
): JsonObject | undefined {
  const kind = clientKind({ execution: "client", ...value });
  if (kind === undefined) return undefined;
  const namespace =
    value.namespace == null ? undefined : stringAt(value.namespace, `${path}.namespace`);
  const id: ToolId = { kind, name: nameOfTool(value, kind, path), namespace };
  const name = tools.nameOf(id);
  if (kind === "tool_search" && !tools.has(name)) return undefined;
  return { type: "function", function: { name } };
}
