/** Reports MCP servers of the configuration to which no connection is possible. */
import type { ConfigCheck } from "portico";
import { problemOf } from "./connections.ts";
import type { McpConfig } from "./schema.ts";

const check: ConfigCheck = ({ config }) => {
  const { servers = {} } = (config["mcp"] ?? {}) as Partial<McpConfig>;
  return Object.entries(servers).flatMap(([name, server]) => {
    if (!problemOf(name, server)) return [];
    return { path: ["mcp", "servers", name], message: "needs either command or url" };
  });
};
export default check;
