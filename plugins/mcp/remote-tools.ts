/** Converts the tools of a connected server for the agent and MCP clients. */
import type { Logger, Tool } from "portico";
import { mcpFailure, mcpResult } from "portico/agent";
import { createArgumentCheck } from "./arguments.ts";
import { uniqueName } from "./names.ts";
import type { Json, Remote } from "./remote.ts";
import type { ServerConfig } from "./schema.ts";

interface RemoteToolsOptions {
  server: ServerConfig;
  log: Logger;
}

export async function listRemoteTools(
  remote: Remote,
  { server, log }: RemoteToolsOptions,
): Promise<Tool[]> {
  const usedNames = new Set<string>();
  const tools: Tool[] = [];
  for (const definition of await remote.list("tools/list", "tools")) {
    const { name, inputSchema } = definition;
    if (typeof name !== "string" || typeof inputSchema !== "object" || inputSchema === null) {
      log.warn({ tool: name }, "a tool without a name or an input schema is left out");
      continue;
    }
    if (server.tools && !server.tools.includes(name)) continue;
    tools.push(createTool(remote, definition as RemoteDefinition, { server, log, usedNames }));
  }
  log.info({ tools: tools.length }, `MCP server ${remote.name} is connected`);
  return tools;
}

interface RemoteDefinition extends Json {
  name: string;
  inputSchema: Json;
}

function createTool(
  remote: Remote,
  definition: RemoteDefinition,
  { server, log, usedNames }: RemoteToolsOptions & { usedNames: Set<string> },
): Tool {
  const { name, inputSchema, description, ...listing } = definition;
  const check = createArgumentCheck(inputSchema, { tool: name, log });
  const title = typeof listing["title"] === "string" ? listing["title"] : undefined;
  return {
    name: uniqueName(remote.name, name, usedNames),
    description:
      typeof description === "string" ? description : (title ?? `${name} of ${remote.name}`),
    origin: `the MCP server ${remote.name}`,
    parameters: inputSchema as unknown as Tool["parameters"],
    listing,
    timeoutMs: server.timeoutMs,
    async handler(args, { signal, onProgress, onLog, askClient }) {
      const problem = check(args);
      if (problem !== undefined)
        throw new Error(`The arguments do not match the tool's schema: ${problem}`);
      const result = await remote.request(
        "tools/call",
        { name, arguments: args },
        { signal, onProgress, onLog, askClient },
      );
      if (result["isError"] === true) throw mcpFailure(result);
      return mcpResult(result);
    },
  };
}
