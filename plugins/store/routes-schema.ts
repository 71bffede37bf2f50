/** The schemas of requests and responses of the store's routes. */
import { type RouteOptions, Type } from "portico";
import { AnyObject, jsonResponse } from "portico/openapi";

const Bytes = Type.Integer({ minimum: 0 });
const owner = { access: "gateway" } as const;

export const storeRoutes = {
  health: {
    ...owner,
    summary: "Show health and size of the store and its queue",
    response: jsonResponse(
      Type.Object({
        ok: Type.Boolean(),
        engine: Type.Optional(Type.String()),
        bytes: Type.Optional(Bytes),
        schemaVersion: Type.Optional(Type.Integer()),
        queue: Type.Optional(AnyObject),
      }),
    ),
  },
  lanes: {
    ...owner,
    summary: "List the lanes of the queue that are not empty",
    response: jsonResponse(
      Type.Object({
        lanes: Type.Array(
          Type.Object({ lane: Type.String(), kind: Type.String(), queued: Type.Integer() }),
        ),
      }),
    ),
  },
  check: {
    ...owner,
    summary: "Check the store for damage",
    changes: false,
    body: null,
    response: jsonResponse(
      Type.Object({ ok: Type.Boolean(), problems: Type.Array(Type.String()) }),
    ),
  },
  backup: {
    ...owner,
    summary: "Write a consistent copy into the backups of the home",
    body: null,
    response: jsonResponse(
      Type.Object({ ok: Type.Literal(true), name: Type.String(), bytes: Bytes }),
    ),
  },
  compact: {
    ...owner,
    summary: "Give free space back to the disk",
    body: null,
    response: jsonResponse(Type.Object({ ok: Type.Literal(true), before: Bytes, after: Bytes })),
  },
} satisfies Record<string, RouteOptions>;
