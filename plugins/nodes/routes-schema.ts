/** The schema of the route that lists nodes. */
import { type RouteOptions, Type } from "portico";
import { choice, jsonResponse, Time } from "portico/openapi";

const Node = Type.Object({
  name: Type.String(),
  state: choice(["connected", "gone"]),
  connectedSince: Type.Union([Time, Type.Null()]),
  lastSeen: Time,
  version: Type.String(),
  platform: Type.String(),
  address: Type.String(),
  browser: Type.Boolean(),
  profiles: Type.Array(Type.String()),
  inFlight: Type.Integer(),
});

export const nodesRoute = {
  access: "gateway",
  summary: "List the connected and disconnected nodes",
  response: jsonResponse(Type.Object({ mode: Type.String(), nodes: Type.Array(Node) })),
} as const satisfies RouteOptions;
