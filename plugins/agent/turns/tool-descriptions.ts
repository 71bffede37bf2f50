/** Describes tools for the model. Descriptions that do not come from the gateway or its plugins are fenced as data. */
import type { Tool } from "portico";
import type { ChatTool } from "portico/provider";
import { steadyFence } from "./fence.ts";

export function describeTools(tools: ReadonlyMap<string, Tool>): ChatTool[] {
  return [...tools.values()].map((tool) => ({ type: "function", function: describe(tool) }));
}

function describe(tool: Tool): ChatTool["function"] {
  const { name, description, parameters, origin } = tool;
  if (origin === undefined) return { name, description, parameters: { ...parameters } };
  const { schema, notes } = extractNotes(parameters as Record<string, unknown>);
  const words = [description, ...notes].join("\n");
  return {
    name,
    description: `A tool of ${origin}, which describes it so:\n${steadyFence(origin, words)}`,
    parameters: schema,
  };
}

/** Deeper parts of a schema are left out. The tool's own server checks the arguments anyway. */
const MAX_DEPTH = 32;
/** Keys of a schema whose values only explain it. */
const EXPLANATORY_KEYS = new Set(["description", "title", "$comment", "examples"]);

interface Notes {
  schema: Record<string, unknown>;
  /** The descriptions of members, each with the path of its member. */
  notes: string[];
}

/** Separates a schema from the texts that explain it. */
function extractNotes(schema: Record<string, unknown>): Notes {
  const notes: string[] = [];

  function strip(value: unknown, path: string, depth: number): unknown {
    if (typeof value !== "object" || value === null) return value;
    if (depth > MAX_DEPTH) return Array.isArray(value) ? [] : {};
    if (Array.isArray(value)) return value.map((item) => strip(item, path, depth + 1));
    return stripSchema(value as Record<string, unknown>, path, depth);
  }

  function stripSchema(value: Record<string, unknown>, path: string, depth: number) {
    const copy: Record<string, unknown> = {};
    for (const [key, member] of Object.entries(value)) {
      if (key === "properties") copy[key] = stripProperties(member, path, depth + 1);
      else if (!EXPLANATORY_KEYS.has(key)) copy[key] = strip(member, path, depth + 1);
      else if (key === "description" && path !== "") notes.push(`${path}: ${String(member)}`);
    }
    return copy;
  }

  /** The names of properties are not keywords of the schema. A property may well be called `title`. */
  function stripProperties(properties: unknown, path: string, depth: number): unknown {
    if (typeof properties !== "object" || properties === null) return properties;
    const entries = Object.entries(properties).map(([name, property]) => {
      const at = path === "" ? name : `${path}.${name}`;
      return [name, strip(property, at, depth)] as const;
    });
    return Object.fromEntries(entries);
  }

  return { schema: stripSchema(schema, "", 0), notes };
}
