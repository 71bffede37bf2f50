/**
 * `npm run fuzz -- schema [COUNT]`: schemathesis makes requests from `/openapi.json`, and fails on a 5xx and on a response
 * that breaks what its route declares. It is skipped where Python's `schemathesis` is not installed
 * (`pip install schemathesis`).
 */
import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startGateway } from "../support/gateway.ts";
import { temporaryDir } from "../support/temporary.ts";

const CHECKS = [
  "not_a_server_error",
  "response_schema_conformance",
  "content_type_conformance",
  "status_code_conformance",
];

/** Routes that do not end by themselves, change the gateway that is under test, or start a browser. */
const EXCLUDED =
  "(/tail|/events|/samples|/dashboard/browser|/kernel/plugins/.*/|/kernel/hooks/.*/|/kernel/config|/hooks)";

const WEBHOOKS = { token: "a-token-of-webhooks", mappings: { one: { message: "{body.a}" } } };

/** What failed, for people; nothing where all holds or schemathesis is not there. */
export async function fuzzSchema(count: number): Promise<string[]> {
  const program = process.env["SCHEMATHESIS"] ?? "schemathesis";
  if (spawnSync(program, ["--version"]).status !== 0) {
    console.log("schema: skipped, since schemathesis is not installed (pip install schemathesis)");
    return [];
  }
  const gateway = await startGateway({ config: { webhooks: WEBHOOKS } });
  try {
    const document = await gateway.json("GET", "/openapi.json?server=gateway");
    const dir = temporaryDir("portico-schema-");
    const file = join(dir, "openapi.json");
    writeFileSync(file, JSON.stringify(document));
    const operations = Object.values<object>(document.paths).flatMap(Object.keys).length;
    const each = Math.max(1, Math.ceil(count / operations));
    const status = await run(program, dir, [
      ...["run", file, "--url", gateway.url, "-H", `Authorization: Bearer ${gateway.token}`],
      ...["--phases", "fuzzing", "--checks", CHECKS.join(","), "-n", String(each)],
      ...["--exclude-path-regex", EXCLUDED, "--continue-on-failure", "--no-color"],
    ]);
    return status === 0 ? [] : ["schema: see the failures of schemathesis above"];
  } finally {
    await gateway.stop();
  }
}

/** In a directory of its own: schemathesis keeps a cache where it runs. */
function run(program: string, cwd: string, args: string[]): Promise<number | null> {
  const child = spawn(program, args, { cwd, stdio: "inherit" });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", resolve);
  });
}
