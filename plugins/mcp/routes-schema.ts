/** The schemas of the MCP routes. */
import { type RouteOptions, Type } from "portico";
import { AnyObject, choice, jsonResponse } from "portico/openapi";

const owner = { access: "gateway" } as const;

const JSON_RPC = { "application/json": AnyObject };

const NO_SESSION = {
  description: "The request has no Mcp-Session-Id. Use POST.",
  content: JSON_RPC,
};

/** Tells the client to begin again with `initialize`. */
const SESSION_NOT_FOUND = {
  description: "There is no session with that Mcp-Session-Id.",
  content: JSON_RPC,
};

export const mcpRoutes = {
  serve: {
    ...owner,
    summary: "Call the gateway's tools over MCP",
    changes: false,
    body: Type.Union([AnyObject, Type.Array(AnyObject)], {
      description: "A JSON-RPC 2.0 message, or a list of such messages.",
    }),
    // The handler validates the body itself, because its errors must be JSON-RPC errors.
    checkedBy: "handler",
    response: {
      200: {
        description: "The response as JSON, or as events if the client asks for progress.",
        content: {
          "application/json": Type.Union([AnyObject, Type.Array(AnyObject)]),
          "text/event-stream": Type.Unknown(),
        },
      },
      404: SESSION_NOT_FOUND,
      202: { description: "The message was a notification." },
      400: {
        description: "The message is not JSON-RPC.",
        content: { "application/json": AnyObject },
      },
      406: {
        description: "The client has to accept application/json and text/event-stream.",
        content: { "application/json": AnyObject },
      },
    },
  },
  listen: {
    ...owner,
    summary: "Stream the events of an MCP session",
    checkedBy: "handler",
    response: {
      200: { description: "A stream of events.", content: { "text/event-stream": Type.Unknown() } },
      404: SESSION_NOT_FOUND,
      405: NO_SESSION,
      406: { description: "The client has to accept text/event-stream.", content: JSON_RPC },
      409: { description: "The session already has an event stream.", content: JSON_RPC },
    },
  },
  end: {
    ...owner,
    summary: "End the session of an MCP client",
    checkedBy: "handler",
    response: {
      200: { description: "The session has ended." },
      404: SESSION_NOT_FOUND,
      405: NO_SESSION,
    },
  },
  servers: {
    ...owner,
    summary: "List the MCP servers and their tools",
    response: jsonResponse(
      Type.Object({
        servers: Type.Array(
          Type.Object({
            name: Type.String(),
            state: choice(["connecting", "connected", "waiting", "disabled", "wrong"]),
            error: Type.Optional(Type.String()),
            tools: Type.Array(Type.String()),
          }),
        ),
      }),
    ),
  },
} satisfies Record<string, RouteOptions>;
