/** Tools as the model is offered them. What others than the gateway and its plugins say of a tool is marked as data. */
import type { Tool } from "portico";
import type { ChatTool } from "portico/provider";
import { steadyFence } from "./fence.ts";

export function describeTools(tools: ReadonlyMap<string, Tool>): ChatTool[] {
  return [...tools.values()].map((tool) => ({ type: "function", function: describe(tool) }));
}

function describe(tool: Tool): ChatTool["function"] {
  const { name, description, parameters, origin } = tool;
  if (origin === undefined) return { name, description, parameters: { ...parameters } };
  const { schema, notes } = withoutNotes(parameters as Record<string, unknown>);
  const words = [description, ...notes].join("\n");
  return {
    name,
    description: `A tool of ${origin}, which describes it so:\n${steadyFence(origin, words)}`,
    parameters: schema,
  };
}

/** Deeper parts of a schema are left out: the tool's own server checks the arguments anyway. */
const DEEPEST = 32;
/** Keys of a schema whose texts only explain. */
const EXPLAINING = new Set(["description", "title", "$comment", "examples"]);

interface Notes {
  schema: Record<string, unknown>;
  /** What the schema explains, with the path of what is explained. */
  notes: string[];
}

/** A schema without the texts that explain it, and those texts. */
function withoutNotes(schema: Record<string, unknown>): Notes {
  const notes: string[] = [];

  function stripped(value: unknown, path: string, depth: number): unknown {
    if (typeof value !== "object" || value === null) return value;
    if (depth > DEEPEST) return Array.isArray(value) ? [] : {};
    if (Array.isArray(value)) return value.map((item) => stripped(item, path, depth + 1));
    return strippedSchema(value as Record<string, unknown>, path, depth);
  }

  function strippedSchema(value: Record<string, unknown>, path: string, depth: number) {
    const copy: Record<string, unknown> = {};
    for (const [key, member] of Object.entries(value)) {
      if (key === "properties") copy[key] = strippedProperties(member, path, depth + 1);
      else if (!EXPLAINING.has(key)) copy[key] = stripped(member, path, depth + 1);
      else if (key === "description" && path !== "") notes.push(`${path}: ${String(member)}`);
    }
    return copy;
  }

  /** The names of properties are no keys of the schema: one may well be called `title`. */
  function strippedProperties(properties: unknown, path: string, depth: number): unknown {
    if (typeof properties !== "object" || properties === null) return properties;
    const entries = Object.entries(properties).map(([name, property]) => {
      const at = path === "" ? name : `${path}.${name}`;
      return [name, stripped(property, at, depth)] as const;
    });
    return Object.fromEntries(entries);
  }

  return { schema: strippedSchema(schema, "", 0), notes };
}
