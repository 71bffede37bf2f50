/** An MCP server as a program of its own: one tool that adds, one that fails, and one that ends the program; and one for each argument. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "sums", version: "1.0.0" });
const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
server.registerTool(
  "add",
  { description: "Adds", inputSchema: { a: z.number(), b: z.number() } },
  ({ a, b }) => text(String(a + b)),
);
server.registerTool("fail", { description: "Fails" }, () => ({
  ...text("it is broken"),
  isError: true,
}));
server.registerTool("leave", { description: "Ends the program" }, () => process.exit(0));
server.registerTool("secret", { description: "Its environment" }, () =>
  text(JSON.stringify(Object.keys(process.env))),
);
for (const name of process.argv.slice(2))
  server.registerTool(name, { description: "Its name" }, () => text(name));
await server.connect(new StdioServerTransport());
