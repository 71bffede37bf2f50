/**
 * `npm run fuzz -- schema [COUNT] [SERVER]`: schemathesis generates requests to the gateway and to browser control from
 * `/openapi.json`. It fails on a 5xx, and on a response that does not conform to its route's declaration. It is skipped if
 * Python's `schemathesis` is not installed (`pip install schemathesis`).
 */
import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type InProcessGateway, startGateway } from "../support/gateway.ts";
import { headlessBrowser } from "../support/machine/prepare.ts";
import { temporaryDir } from "../support/temporary.ts";

const CHECKS = [
  "not_a_server_error",
  "response_schema_conformance",
  "content_type_conformance",
  "status_code_conformance",
];

/**
 * The excluded routes of each server: those that do not end by themselves, change the gateway, or end the browser under
 * test.
 */
const EXCLUDED = {
  gateway:
    "(/tail|/events|/kernel/logs|/samples|/dashboard/browser|/kernel/plugins/.*/|/kernel/hooks/.*/|/kernel/config|/hooks)",
  // A start with a window correctly fails on a machine without a display.
  browser: "^/(start|stop|reset-profile|set/device)$",
};

type ServerName = keyof typeof EXCLUDED;

const WEBHOOKS = { token: "a-token-of-webhooks", mappings: { one: { message: "{body.a}" } } };

/** A 504 is not a fault, since a request may set a short `timeoutMs` or wait for an event that never occurs. */
const SETTINGS = `[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "504"]
`;

/** The timeout of a request. It is long, because an action on a page waits for its element. */
const REQUEST_SECONDS = "150";

/** Returns the failures, or an empty list if there are none or schemathesis is not installed. */
export async function fuzzSchema(count: number, only?: string): Promise<string[]> {
  const program = process.env["SCHEMATHESIS"] ?? "schemathesis";
  if (spawnSync(program, ["--version"]).status !== 0) {
    console.log("schema: skipped, since schemathesis is not installed (pip install schemathesis)");
    return [];
  }
  const gateway = await startGateway({ config: { webhooks: WEBHOOKS, browser: headlessBrowser } });
  try {
    const documents = new Map<ServerName, ApiDocument>();
    const names = Object.keys(EXCLUDED) as ServerName[];
    for (const name of names.filter((name) => only === undefined || name === only))
      documents.set(name, await gateway.json("GET", `/openapi.json?server=${name}`));
    const all = [...documents.values()].map(operationsOf).reduce((sum, each) => sum + each, 0);
    const failures: string[] = [];
    for (const [name, document] of documents) {
      const values = name === "browser" ? await openPage(gateway) : await createEntries(gateway);
      addRealValues(document, values);
      const requestsPerOperation = Math.max(1, Math.ceil(count / all));
      const status = await fuzzServer(program, gateway, name, document, requestsPerOperation);
      if (status !== 0) failures.push(`schema: see schemathesis's failures of ${name} above`);
    }
    return failures;
  } finally {
    await gateway.stop();
  }
}

interface ApiDocument {
  paths: Record<
    string,
    Record<string, { parameters?: { name: string; in: string; schema: object }[] }>
  >;
}

const operationsOf = ({ paths }: ApiDocument): number =>
  Object.values(paths).flatMap(Object.keys).length;

/** Existing values, by the name of a field, or by the path of the route that accepts them as `{id}` or `{name}`. */
type RealValues = Record<string, readonly (string | number)[]>;

/** Opens a page with a few kinds of fields and a link for the actions. Returns the tab and its refs. */
async function openPage(gateway: InProcessGateway): Promise<RealValues> {
  const server = { server: "browser" };
  const opened = await gateway.request("POST", "/tabs/open", { url: "about:blank" }, server);
  const { targetId } = (await opened.json()) as { targetId: string };
  const fn =
    "document.body.innerHTML = '<a href=#x>Link</a><input><select><option>a</select><textarea></textarea><input type=checkbox><div contenteditable>text</div><button>b</button>'";
  await gateway.request("POST", "/act", { kind: "evaluate", fn, targetId }, server);
  const snapshot = await gateway.request(
    "GET",
    `/snapshot?targetId=${targetId}`,
    undefined,
    server,
  );
  const { refs } = (await snapshot.json()) as { refs: object };
  const ref = Object.keys(refs);
  return { targetId: [targetId, targetId.slice(0, 8)], ref, startRef: ref, endRef: ref };
}

/** Creates one entry of each kind that routes accept by id or name. */
async function createEntries(gateway: InProcessGateway): Promise<RealValues> {
  const payload = { kind: "agentTurn", message: "x" };
  const job = await gateway.json("POST", "/cron/jobs", { schedule: "every 1h", payload });
  const source = { kind: "file", path: "notes.txt" };
  const poll = await gateway.json("POST", "/polls", { every: "1h", source, payload });
  const turn = await gateway.json("POST", "/agent", { message: "x", session: "fuzz", wait: true });
  await gateway.json("POST", "/keys", { name: "fuzz" });
  await gateway.request("POST", "/hooks/one", { a: "b" }, { token: WEBHOOKS.token });
  const { deliveries } = await gateway.json("GET", "/webhooks/deliveries");
  const response = await gateway.json("POST", "/v1/responses", { model: "echo", input: "x" });
  return {
    session: ["fuzz"],
    model: ["echo", "agent"],
    "/cron/jobs/": [job.id],
    "/polls/": [poll.id],
    "/turns/": [turn.turnId],
    "/sessions/": ["fuzz"],
    "/keys/": ["fuzz"],
    "/webhooks/deliveries/": [deliveries[0].id],
    "/hooks/": ["one"],
    "/v1/responses/": [response.id],
  };
}

/** Adds existing values to the schemas of fields and path parameters. */
function addRealValues({ paths }: ApiDocument, values: RealValues): void {
  for (const [path, operations] of Object.entries(paths)) {
    const prefix = Object.keys(values).find((key) => key.startsWith("/") && path.startsWith(key));
    for (const [method, operation] of Object.entries(operations)) {
      addValuesTo(operation, values);
      // A deleted entry would not be available to other requests.
      if (prefix === undefined || method === "delete") continue;
      for (const parameter of operation.parameters ?? [])
        if (parameter.in === "path") parameter.schema = addValues(parameter.schema, values[prefix]);
    }
  }
}

/** The maximum `timeoutMs` of generated requests, so that those that wait in vain end soon. */
const MAX_WAIT_MS = 2_000;

/** Adds values to properties and query parameters with these names at any depth of requests. Responses stay unchanged. */
function addValuesTo(node: unknown, values: RealValues): void {
  if (typeof node !== "object" || node === null) return;
  const {
    name,
    in: place,
    schema,
    properties,
  } = node as {
    name?: string;
    in?: string;
    schema?: object;
    properties?: Record<string, object>;
  };
  if (place === "query" && schema && name !== undefined && Object.hasOwn(values, name))
    Object.assign(node, { schema: addValues(schema, values[name]) });
  if (properties?.["timeoutMs"])
    properties["timeoutMs"] = { ...properties["timeoutMs"], maximum: MAX_WAIT_MS };
  for (const [field, property] of Object.entries(properties ?? {}))
    if (properties && Object.hasOwn(values, field))
      properties[field] = addValues(property, values[field]);
  for (const [key, child] of Object.entries(node))
    if (key !== "responses") addValuesTo(child, values);
}

const addValues = (schema: object, values: readonly (string | number)[] = []): object => ({
  anyOf: [{ enum: values }, schema],
});

/** Runs schemathesis with `each` requests per operation. Returns its exit status. */
async function fuzzServer(
  program: string,
  gateway: InProcessGateway,
  name: ServerName,
  document: ApiDocument,
  requestsPerOperation: number,
): Promise<number | null> {
  const dir = temporaryDir("portico-schema-");
  const file = join(dir, "openapi.json");
  writeFileSync(file, JSON.stringify(document));
  writeFileSync(join(dir, "schemathesis.toml"), SETTINGS);
  const url = name === "browser" ? await gateway.serverUrl("browser") : gateway.url;
  return run(program, dir, [
    ...["run", file, "--url", url, "-H", `Authorization: Bearer ${gateway.token}`],
    ...["--phases", "fuzzing", "--checks", CHECKS.join(","), "-n", String(requestsPerOperation)],
    ...["--exclude-path-regex", EXCLUDED[name], "--continue-on-failure", "--no-color"],
    ...["--request-timeout", REQUEST_SECONDS],
  ]);
}

/** Runs schemathesis in a directory of its own, because it stores a cache in the current directory. */
function run(program: string, cwd: string, args: string[]): Promise<number | null> {
  const child = spawn(program, args, { cwd, stdio: "inherit" });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", resolve);
  });
}
