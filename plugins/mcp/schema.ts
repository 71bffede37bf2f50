import { type Static, timerMs, Type } from "portico";
import { refuseNames, WEB_ADDRESS } from "portico/strings";

const Server = Type.Object(
  {
    command: Type.Optional(
      Type.String({
        minLength: 1,
        description: "Program that speaks MCP over its standard streams.",
      }),
    ),
    args: Type.Array(Type.String(), { default: [], description: "Its arguments." }),
    env: Type.Record(Type.String(), Type.String(), {
      default: {},
      description: "Its environment variables, in addition to PATH, HOME and similar ones.",
    }),
    cwd: Type.Optional(Type.String({ description: "Its working directory." })),
    url: Type.Optional(
      Type.String({
        ...WEB_ADDRESS,
        description: "Address of a server that speaks MCP over HTTP.",
      }),
    ),
    headers: Type.Record(Type.String(), Type.String(), {
      default: {},
      description: "Headers for it, such as Authorization.",
    }),
    tools: Type.Optional(
      Type.Array(Type.String(), { description: "Only these tools of it; default all." }),
    ),
    timeoutMs: timerMs({ default: 60_000, description: "Deadline of one call, in milliseconds." }),
    maxResponseBytes: Type.Integer({
      default: 16 * 1024 * 1024,
      minimum: 1024,
      description:
        "The largest size of one response or event over HTTP, decompressed; a larger one is an error.",
    }),
    enabled: Type.Boolean({ default: true }),
  },
  { description: "Either `command` or `url`." },
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
