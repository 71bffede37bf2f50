/**
 * `npm run fuzz -- schema [COUNT] [SERVER]`: schemathesis makes requests to the gateway and to browser control from
 * `/openapi.json`, and fails on a 5xx and on a response that breaks what its route declares. It is skipped where Python's `schemathesis` is not installed
 * (`pip install schemathesis`).
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

/** Of each server: routes that do not end by themselves, or that change the gateway or end the browser under test. */
const EXCLUDED = {
  gateway:
    "(/tail|/events|/samples|/dashboard/browser|/kernel/plugins/.*/|/kernel/hooks/.*/|/kernel/config|/hooks)",
  // A start with a window fails on a machine without a display, and rightly so.
  browser: "^/(start|stop|reset-profile|set/device)$",
};

type ServerName = keyof typeof EXCLUDED;

const WEBHOOKS = { token: "a-token-of-webhooks", mappings: { one: { message: "{body.a}" } } };

/** The least time for a request of the browser: an action on a page waits for what it needs. */
const REQUEST_SECONDS = "60";

/** What failed, for people; nothing where all holds or schemathesis is not there. */
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
    for (const name of names.filter((each) => only === undefined || each === only))
      documents.set(name, await gateway.json("GET", `/openapi.json?server=${name}`));
    const all = [...documents.values()].map(operationsOf).reduce((sum, each) => sum + each, 0);
    const failures: string[] = [];
    for (const [name, document] of documents) {
      if (name === "browser") await openPage(gateway);
      const each = Math.max(1, Math.ceil(count / all));
      const status = await fuzzServer(program, gateway, name, document, each);
      if (status !== 0) failures.push(`schema: see schemathesis's failures of ${name} above`);
    }
    return failures;
  } finally {
    await gateway.stop();
  }
}

interface ApiDocument {
  paths: Record<string, object>;
}

const operationsOf = ({ paths }: ApiDocument): number =>
  Object.values(paths).flatMap(Object.keys).length;

/** A page for the actions: a few kinds of fields, and a link. */
async function openPage(gateway: InProcessGateway): Promise<void> {
  const body = { url: "about:blank" };
  await gateway.request("POST", "/tabs/open", body, { server: "browser" });
  const fn =
    "document.body.innerHTML = '<a href=#x>Link</a><input><select><option>a</select><button>b</button>'";
  await gateway.request("POST", "/act", { kind: "evaluate", fn }, { server: "browser" });
}

/** The exit status of schemathesis, which makes `each` requests per operation. */
async function fuzzServer(
  program: string,
  gateway: InProcessGateway,
  name: ServerName,
  document: ApiDocument,
  each: number,
): Promise<number | null> {
  const dir = temporaryDir("portico-schema-");
  const file = join(dir, "openapi.json");
  writeFileSync(file, JSON.stringify(document));
  const url = name === "browser" ? await gateway.serverUrl("browser") : gateway.url;
  return run(program, dir, [
    ...["run", file, "--url", url, "-H", `Authorization: Bearer ${gateway.token}`],
    ...["--phases", "fuzzing", "--checks", CHECKS.join(","), "-n", String(each)],
    ...["--exclude-path-regex", EXCLUDED[name], "--continue-on-failure", "--no-color"],
    ...["--request-timeout", REQUEST_SECONDS],
  ]);
}

/** In a directory of its own: schemathesis keeps a cache where it runs. */
function run(program: string, cwd: string, args: string[]): Promise<number | null> {
  const child = spawn(program, args, { cwd, stdio: "inherit" });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", resolve);
  });
}
