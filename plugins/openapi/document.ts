/** An OpenAPI 3.1 document of routes (https://spec.openapis.org/oas/v3.1.0). */
import type { RouteInfo, ServerRoutes } from "portico";

type Operation = Record<string, unknown>;

const bearer = { bearer: [] };
const security: Record<RouteInfo["access"], readonly object[]> = {
  gateway: [bearer],
  client: [bearer, { apiKey: [] }],
  control: [bearer, { password: [] }, { basic: [] }],
  public: [],
  own: [bearer],
};

/** The document. Paths that several servers have are described once each, with the server's address. */
export function describeRoutes(servers: readonly ServerRoutes[], version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const { server, url, routes } of servers) {
    for (const route of routes) {
      // one that takes every method has none to be described by
      if (route.method === "") continue;
      const path = templateOf(route.path);
      const item = (paths[path] ??= {});
      const method = route.method.toLowerCase();
      // The gateway's own come first, and keep the place.
      item[method] ??= { ...operationOf(route, server), ...(server === "gateway" ? {} : { servers: [{ url }] }) };
    }
  }
  return {
    openapi: "3.1.0",
    info: { title: "Portico", version, description: "A gateway in front of AI models and an agent." },
    servers: servers.filter(({ server }) => server === "gateway").map(({ url }) => ({ url })),
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
    components: { securitySchemes, responses: { error: errorResponse } },
  };
}

function operationOf({ method, path, access, summary, body }: RouteInfo, server: string): Operation {
  const names = [...path.matchAll(/:(\w+)\??|\*/g)].map(([, name = "rest"]) => name);
  return {
    operationId: idOf(method, path, server),
    summary,
    tags: [server === "gateway" ? (path.split("/")[1] ?? "") : server],
    security: security[access],
    parameters: names.map((name) => ({ name, in: "path", required: true, schema: { type: "string" } })),
    requestBody:
      method === "GET" || method === "DELETE"
        ? undefined
        : { content: { "application/json": { schema: body ?? { type: "object" } } } },
    responses: { "200": { description: "The response." }, default: { $ref: "#/components/responses/error" } },
  };
}

/** `getA`, `getAById` for `/a/:id`, `getARest` for `/a/*`; with the server's name where it is not the gateway's own. */
function idOf(method: string, path: string, server: string): string {
  const named = path.replace(/:(\w+)\??/g, "By-$1").replace(/\*/g, "rest");
  const words = named.split(/[^A-Za-z0-9]+/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${method.toLowerCase()}${words.join("")}${server === "gateway" ? "" : `_${server}`}`;
}

/** `/a/:b/*` as OpenAPI writes it. */
function templateOf(path: string): string {
  return path.replace(/:(\w+)\??/g, "{$1}").replace(/\*/g, "{rest}");
}

const securitySchemes = {
  bearer: { type: "http", scheme: "bearer", description: "The gateway's token, or a client key where one may call." },
  apiKey: { type: "apiKey", in: "header", name: "x-api-key" },
  password: { type: "apiKey", in: "header", name: "x-service-password" },
  basic: { type: "http", scheme: "basic", description: "Any user name and the gateway's password." },
};

const errorResponse = {
  description: "What was wrong, and what to do.",
  content: {
    "application/json": {
      schema: {
        type: "object",
        properties: {
          error: {
            type: "object",
            properties: { code: { type: ["string", "null"] }, message: { type: "string" } },
            required: ["message"],
          },
        },
        required: ["error"],
      },
    },
  },
};
