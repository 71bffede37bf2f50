import { type Static, timerMs, Type } from "portico";
import { refuseNames, WEB_ADDRESS } from "portico/strings";

const Server = Type.Object(
  {
    command: Type.Optional(
      Type.String({
        minLength: 1,
        description: "The program to start, which speaks MCP over its standard input and output.",
      }),
    ),
    args: Type.Array(Type.String(), { default: [], description: "The arguments of the program." }),
    env: Type.Record(Type.String(), Type.String(), {
      default: {},
      description:
        "The environment variables of the program, in addition to basic variables such as PATH and HOME.",
    }),
    cwd: Type.Optional(Type.String({ description: "The working directory of the program." })),
    url: Type.Optional(
      Type.String({
        ...WEB_ADDRESS,
        description: "The address of a server that speaks MCP over HTTP.",
      }),
    ),
    headers: Type.Record(Type.String(), Type.String(), {
      default: {},
      description: "Headers for requests to the server, such as Authorization.",
    }),
    tools: Type.Optional(
      Type.Array(Type.String(), {
        description: "The names of the server's tools that the agent can use. Default: all.",
      }),
    ),
    timeoutMs: timerMs({ default: 60_000, description: "Deadline of one call, in milliseconds." }),
    maxResponseBytes: Type.Integer({
      default: 16 * 1024 * 1024,
      minimum: 1024,
      description:
        "The largest size of one decompressed response or event over HTTP, in bytes. A larger response or event is an error.",
    }),
    enabled: Type.Boolean({ default: true }),
  },
  { description: "An MCP server, with either `command` or `url`." },
);

export const McpConfig = Type.Object(
  {
    enabled: Type.Boolean({
      default: true,
      description: "Whether POST /mcp offers the gateway's tools.",
    }),
    servers: Type.Record(Type.String(), Server, {
      default: {},
      refuse: refuseNames(
        /^[A-Za-z][A-Za-z0-9_-]*$/,
        "letters, digits, '-' and '_', beginning with a letter",
      ),
      description: "MCP servers whose tools the agent can use, by name.",
    }),
  },
  {
    default: {},
    description:
      "The Model Context Protocol: the gateway's tools for MCP clients, and MCP servers' tools for the agent.",
  },
);
export type McpConfig = Static<typeof McpConfig>;
export type ServerConfig = Static<typeof Server>;
