/** What the routes of the control API answer, for listings. Members beside these depend on what was asked for. */
import { type ResponseDeclarations, type TSchema, Type } from "portico";
import { AnyObject, jsonResponse } from "portico/openapi";

const Ok = Type.Object({ ok: Type.Literal(true) });
const OfTab = Type.Object({ ok: Type.Literal(true), targetId: Type.String() });
const OfProfile = Type.Object({ ok: Type.Literal(true), profile: Type.String() });
const Path = Type.String({ description: "Where the file is" });

const withOk = (fields: Record<string, TSchema>) =>
  Type.Object({ ok: Type.Literal(true), ...fields });

const SCHEMAS: Readonly<Record<string, TSchema>> = {
  "GET /": Type.Object({
    enabled: Type.Boolean(),
    profile: Type.String(),
    running: Type.Boolean(),
    driver: Type.String(),
    library: Type.Optional(Type.Boolean()),
  }),
  "POST /start": OfProfile,
  "POST /stop": Type.Composite([OfProfile, Type.Object({ stopped: Type.Boolean() })]),
  "GET /profiles": Type.Object({
    profiles: Type.Array(
      Type.Object({ name: Type.String(), driver: Type.String(), isDefault: Type.Boolean() }),
    ),
  }),
  "POST /profiles/create": OfProfile,
  "DELETE /profiles/:name": OfProfile,
  "POST /reset-profile": OfProfile,
  "GET /tabs": Type.Object({
    running: Type.Boolean(),
    tabs: Type.Array(
      Type.Object({ targetId: Type.String(), title: Type.String(), url: Type.String() }),
    ),
  }),
  "POST /tabs/open": OfTab,
  "POST /tabs/focus": OfTab,
  "DELETE /tabs/:targetId": OfTab,
  "GET /snapshot": OfTab,
  "POST /act": Type.Object({
    ok: Type.Boolean({ description: "false for a batch of which an action failed" }),
    targetId: Type.String(),
    url: Type.String(),
  }),
  "POST /navigate": Type.Composite([OfTab, Type.Object({ url: Type.String() })]),
  "GET /console": withOk({ targetId: Type.String(), messages: Type.Array(AnyObject) }),
  "GET /errors": withOk({ targetId: Type.String(), errors: Type.Array(AnyObject) }),
  "GET /requests": withOk({ targetId: Type.String(), requests: Type.Array(AnyObject) }),
  "POST /trace/stop": withOk({ path: Path, bytes: Type.Integer() }),
  "POST /highlight": OfTab,
  "POST /response/body": withOk({ targetId: Type.String(), response: AnyObject }),
  "GET /cookies": withOk({ cookies: Type.Array(AnyObject) }),
  "POST /state/load": withOk({ cookies: Type.Integer(), origins: Type.Integer() }),
};

/** Pictures come as JSON with a path, or as themselves where the caller accepts images. */
const picture: ResponseDeclarations = {
  200: {
    description: "The picture, or where it is kept.",
    content: {
      "application/json": OfTab,
      "image/png": Type.Unsafe({ type: "string", format: "binary" }),
      "image/jpeg": Type.Unsafe({ type: "string", format: "binary" }),
    },
  },
};

/** By method and path: `GET /tabs`. */
export function responseOf(route: string): ResponseDeclarations {
  return route === "POST /screenshot" ? picture : jsonResponse(SCHEMAS[route] ?? Ok);
}
