/** What the route of gateways answers. */
import { type RouteOptions, Type } from "portico";
import { jsonResponse, Time } from "portico/openapi";

const Gateway = Type.Object({
  id: Type.String({ description: "New at each start" }),
  name: Type.String({ description: "gateway.name, or the name of the machine" }),
  host: Type.String({ description: "The name of the machine" }),
  url: Type.String({ description: "Where it listens" }),
  version: Type.String(),
  pid: Type.Integer({ description: "The process to send signals to" }),
  workers: Type.Integer({ minimum: 1 }),
  startedAt: Time,
  seenAt: Type.Unsafe<string>({ ...Time, description: "Its last sign of life" }),
  ageMs: Type.Integer({
    minimum: 0,
    description: "Milliseconds since its last sign of life, by the clock of the store",
  }),
  isThis: Type.Boolean({ description: "Whether it is the one that responds" }),
});

export const gatewaysRoute = {
  access: "gateway",
  summary: "The gateways that share the store",
  response: jsonResponse(Type.Object({ gateways: Type.Array(Gateway) })),
} as const satisfies RouteOptions;
