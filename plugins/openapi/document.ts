/** An OpenAPI 3.1 document of routes (https://spec.openapis.org/oas/v3.1.0). */
import type { RouteInfo, ServerRoutes, TSchema } from "portico";

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
export async function describeRoutes(
  servers: readonly ServerRoutes[],
  version: string,
): Promise<object> {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const { server, url, routes } of servers) {
    for (const route of routes) {
      // one that takes every method has none to be described by
      if (route.method === "") continue;
      const path = templateOf(route.path);
      const item = (paths[path] ??= {});
      const method = route.method.toLowerCase();
      // The gateway's own come first, and keep the place.
      item[method] ??= {
        ...(await operationOf(route, server)),
        servers: server === "gateway" ? undefined : [{ url }],
      };
    }
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Portico",
      version,
      description: "A gateway in front of AI models and an agent.",
    },
    servers: servers.filter(({ server }) => server === "gateway").map(({ url }) => ({ url })),
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
    components: { securitySchemes, responses: { error: errorResponse } },
  };
}

async function operationOf(
  { method, path, access, summary, query, body }: RouteInfo,
  server: string,
): Promise<Operation> {
  const takesBody = method !== "GET" && method !== "DELETE";
  return {
    operationId: idOf(method, path, server),
    summary,
    tags: [server === "gateway" ? (path.split("/")[1] ?? "") : server],
    security: security[access],
    parameters: parametersOf(path, await loaded(query)),
    requestBody: takesBody
      ? { content: { "application/json": { schema: (await loaded(body)) ?? { type: "object" } } } }
      : undefined,
    responses: {
      "200": { description: "The response." },
      default: { $ref: "#/components/responses/error" },
    },
  };
}

const loaded = (schema: RouteInfo["query"]) => (typeof schema === "function" ? schema() : schema);

/** Those of the path, then those of the query; a schema of the query's that has a name of the path's is that one's. */
function parametersOf(path: string, query: TSchema | undefined): object[] {
  const names = [...path.matchAll(/:(\w+)\??|\*/g)].map(([, name = "rest"]) => name);
  const fields: Record<string, TSchema> = query?.["properties"] ?? {};
  const needed: readonly string[] = query?.["required"] ?? [];
  return [
    ...names.map((name) => ({
      name,
      in: "path",
      required: true,
      schema: fields[name] ?? { type: "string" },
    })),
    ...Object.entries(fields)
      .filter(([name]) => !names.includes(name))
      .map(([name, schema]) => ({ name, in: "query", required: needed.includes(name), schema })),
  ];
}

/** `getA`, `getAById` for `/a/:id`, `getARest` for `/a/*`; with the server's name where it is not the gateway's own. */
function idOf(method: string, path: string, server: string): string {
  const named = path.replace(/:(\w+)\??/g, "By-$1").replace(/\*/g, "rest");
  const words = named
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${method.toLowerCase()}${words.join("")}${server === "gateway" ? "" : `_${server}`}`;
}

/** `/a/:b/*` as OpenAPI writes it. */
function templateOf(path: string): string {
  return path.replace(/:(\w+)\??/g, "{$1}").replace(/\*/g, "{rest}");
}

const securitySchemes = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description: "The gateway's token, or a client key where one may call.",
  },
  apiKey: { type: "apiKey", in: "header", name: "x-api-key" },
  password: { type: "apiKey", in: "header", name: "x-service-password" },
  basic: {
    type: "http",
    scheme: "basic",
    description: "Any user name and the gateway's password.",
  },
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
