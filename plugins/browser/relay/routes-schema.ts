/** Schemas of the relay's routes for the extension. */
import { type RouteOptions, Type } from "portico";
import { AnyObject, jsonResponse } from "portico/openapi";

const own = { access: "own" } as const;
const control = { access: "control" } as const;

export const extensionRoutes = {
  check: {
    ...own,
    summary: "Check whether the extension is paired",
    maxBodyBytes: 4096,
    body: Type.Object({ instance: Type.String({ default: "" }) }),
    response: jsonResponse(Type.Object({ ok: Type.Literal(true), version: Type.String() })),
  },
  show: {
    ...control,
    summary: "Show where the relay's extension is",
    response: jsonResponse(
      Type.Object({
        id: Type.String(),
        path: Type.String(),
        port: Type.Integer(),
        connected: Type.Boolean(),
        tabs: Type.Array(AnyObject),
      }),
    ),
  },
  pair: {
    ...control,
    summary: "Show the port and the token for pairing the extension",
    response: jsonResponse(Type.Object({ port: Type.Integer(), token: Type.String() })),
  },
} satisfies Record<string, RouteOptions>;
