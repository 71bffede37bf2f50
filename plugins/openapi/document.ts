/** Generates an OpenAPI 3.1 document from routes (https://spec.openapis.org/oas/v3.1.0). */
import type { Declared, RouteInfo, ServerRoutes, TSchema } from "portico";

type Operation = Record<string, unknown>;

const bearer = { bearer: [] };
const security: Record<RouteInfo["access"], readonly object[]> = {
  gateway: [bearer],
  client: [bearer, { apiKey: [] }],
  control: [bearer, { password: [] }, { basic: [] }],
  public: [],
  own: [bearer],
};

/**
 * Returns the document of these servers. A document can hold an operation only once: if several servers have it, the first
 * one's is used, and those of the others are in its `x-other-servers`.
 */
export async function describeRoutes(
  servers: readonly ServerRoutes[],
  version: string,
): Promise<object> {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const { server, url, routes } of servers) {
    for (const route of routes) {
      // a route for every method cannot be described, since an operation needs a method
      if (route.method === "") continue;
      const path = pathTemplate(route.path);
      paths[path] ??= {};
      const item = paths[path];
      const method = route.method.toLowerCase();
      const operation = {
        ...(await describeOperation(route, server)),
        servers: server === "gateway" ? undefined : [{ url }],
      };
      const first = item[method];
      if (first === undefined) {
        item[method] = operation;
        continue;
      }
      const others = (first["x-other-servers"] ?? []) as Operation[];
      first["x-other-servers"] = [...others, operation];
    }
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Portico",
      version,
      description: "A gateway in front of AI models and an agent.",
    },
    servers: servers.slice(0, 1).map(({ url }) => ({ url })),
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
    components: { securitySchemes },
  };
}

async function describeOperation(route: RouteInfo, server: string): Promise<Operation> {
  const { method, path, access, summary } = route;
  return {
    operationId: operationId(method, path, server),
    summary,
    tags: [server === "gateway" ? (path.split("/")[1] ?? "") : server],
    security: security[access],
    parameters: await describeParameters(route),
    requestBody: await describeBody(route),
    responses: await describeResponses(route),
  };
}

/** Describes the body. A route without a declared body accepts any. */
async function describeBody(route: RouteInfo): Promise<object | undefined> {
  const { method, body, bodyTypes = ["application/json"], optionalBody = false } = route;
  if (body === null || method === "GET" || method === "DELETE") return undefined;
  const schema = body === undefined ? {} : await loadDeclared(body);
  return {
    required: body !== undefined && !optionalBody,
    content: Object.fromEntries(bodyTypes.map((type) => [type, { schema }])),
  };
}

async function describeResponses(route: RouteInfo): Promise<Record<string, object>> {
  const declared = route.response === undefined ? {} : await loadDeclared(route.response);
  const error = (description: string) => ({
    description,
    content: { "application/json": { schema: route.error } },
  });
  const responses: Record<string, object> = { default: error("The request failed with an error.") };
  for (const [status, description] of commonErrors(route)) responses[status] = error(description);
  for (const [status, { description, content }] of Object.entries(declared))
    responses[status] = { description, content: content && describeContent(content) };
  return responses;
}

async function loadDeclared<T extends object>(declared: Declared<T>): Promise<T> {
  return typeof declared === "function" ? (declared as () => Promise<T>)() : declared;
}

const describeContent = (content: Readonly<Record<string, TSchema>>) =>
  Object.fromEntries(Object.entries(content).map(([type, schema]) => [type, { schema }]));

/** Returns the errors that any route with these properties may respond with. */
function commonErrors({ access, path, query, body, params }: RouteInfo): [number, string][] {
  const takesInput = Boolean(query ?? body ?? params);
  const rows: [boolean, number, string][] = [
    [takesInput, 400, "The input does not match the schema of the route; `param` names the field."],
    [access !== "public", 401, "The credentials are missing or wrong."],
    [/[:*]/.test(path), 404, "There is no resource with that name."],
    [Boolean(body), 413, "The body is too large."],
    [Boolean(body), 415, "The route does not accept this content type."],
    [
      access !== "public",
      429,
      "The client sent too many requests, or failed to authenticate too often. Retry-After says when to try again.",
    ],
  ];
  return rows.flatMap(([applies, status, text]) => (applies ? [[status, text]] : []));
}

/** Describes the parameters of the path, then those of the query. */
async function describeParameters({ path, query, params }: RouteInfo): Promise<object[]> {
  const names = [...path.matchAll(/:(\w+)\??|\*/g)].map(([, name = "rest"]) => name);
  const schema = query === undefined ? undefined : await loadDeclared(query);
  const fields = fieldsOf(schema);
  const requiredNames: readonly string[] = schema?.["required"] ?? [];
  const pathFields = fieldsOf(params === undefined ? undefined : await loadDeclared(params));
  return [
    ...names.map((name) => ({
      name,
      in: "path",
      required: true,
      schema: pathFields[name] ?? { type: "string" },
    })),
    ...Object.entries(fields).map(([name, field]) => ({
      name,
      in: "query",
      required: requiredNames.includes(name),
      schema: field,
    })),
  ];
}

const fieldsOf = (schema: TSchema | undefined): Record<string, TSchema> =>
  schema?.["properties"] ?? {};

/**
 * Returns the operation's id: `getA`, `getAById` for `/a/:id`, `getARest` for `/a/*`, with the server's name unless it is
 * the gateway's own.
 */
function operationId(method: string, path: string, server: string): string {
  const pathName = path.replace(/:(\w+)\??/g, "By-$1").replace(/\*/g, "rest");
  const words = pathName
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${method.toLowerCase()}${words.join("")}${server === "gateway" ? "" : `_${server}`}`;
}

/** Converts `/a/:b/*` to OpenAPI's form, `/a/{b}/{rest}`. */
function pathTemplate(path: string): string {
  return path.replace(/:(\w+)\??/g, "{$1}").replace(/\*/g, "{rest}");
}

const securitySchemes = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description: "The gateway's token, or a client key on routes that accept one.",
  },
  apiKey: { type: "apiKey", in: "header", name: "x-api-key" },
  password: { type: "apiKey", in: "header", name: "x-service-password" },
  basic: {
    type: "http",
    scheme: "basic",
    description: "Basic authentication with any user name and the gateway's password.",
  },
};
