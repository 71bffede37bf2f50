/** The response of the route that lists the gateways. */
import { type RouteOptions, Type } from "portico";
import { jsonResponse, Time } from "portico/openapi";

const Gateway = Type.Object({
  id: Type.String({ description: "The id of the gateway, which is new at each start" }),
  name: Type.String({ description: "The value of gateway.name, or the name of the machine" }),
  host: Type.String({ description: "The name of the machine" }),
  url: Type.String({ description: "The address on which the gateway listens" }),
  version: Type.String(),
  pid: Type.Integer({ description: "The id of the process to which signals are sent" }),
  workers: Type.Integer({ minimum: 1 }),
  startedAt: Time,
  seenAt: Type.Unsafe<string>({
    ...Time,
    description: "The time at which the gateway last renewed its entry in the list",
  }),
  ageMs: Type.Integer({
    minimum: 0,
    description:
      "Milliseconds since the gateway last renewed its entry in the list, by the clock of the store",
  }),
  isThis: Type.Boolean({ description: "Whether this gateway sent the response" }),
});

export const gatewaysRoute = {
  access: "gateway",
  summary: "List the gateways that share the store",
  response: jsonResponse(Type.Object({ gateways: Type.Array(Gateway) })),
} as const satisfies RouteOptions;
