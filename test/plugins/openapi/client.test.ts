/**
 * A client that is generated from `/openapi.json`: its types are those of the routes, and its calls work.
 *
 * swagger-typescript-api makes it: openapi-typescript does not run with the TypeScript of this project.
 */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildSync } from "esbuild";
import { generateApi } from "swagger-typescript-api";
import * as assert from "uvu/assert";
import { packageDir, startGateway } from "../../support/gateway.ts";
import { test } from "../../support/suite.ts";
import { temporaryDir } from "../../support/temporary.ts";

/** What a user of the client writes. */
const CALLS = `
import { Api } from "./client.ts";

export async function useClient(baseUrl: string, token: string) {
  const baseApiParams = { headers: { authorization: "Bearer " + token }, format: "json" as const };
  const api = new Api({ baseUrl, baseApiParams });
  const made = await api.keys.postKeys({ name: "typed", models: ["echo"] });
  const key: string = made.data.key;
  const { data: listed } = await api.keys.getKeys();
  const names: string[] = listed.keys.map(({ name }) => name);
  const { data: chat } = await api.v1.postV1ChatCompletions({
    model: "echo",
    messages: [{ role: "user", content: "Hi" }],
  });
  const { data: turns } = await api.turns.getTurns({ state: "done", limit: 5 });
  const states: ("queued" | "running" | "waiting" | "done" | "dead" | "cancelled")[] =
    turns.turns.map(({ state }) => state);
  const { data: gone } = await api.keys.deleteKeysByName("typed");
  return { key, names, choices: chat.choices.length, states, revoked: gone.revoked };
}
`;

const MISTAKES = [
  "void api.keys.postKeys({ models: [] });",
  'void api.turns.getTurns({ state: "asleep" });',
  "void api.keys.getKeys().then(({ data }) => data.names);",
];

test("the generated client's types refuse what the routes refuse, and its calls work", async () => {
  const gateway = await startGateway();
  try {
    const dir = temporaryDir("portico-client-");
    const write = (name: string, text: string) => writeFileSync(join(dir, name), text);
    const spec = await gateway.json("GET", "/openapi.json?server=gateway");
    const { files } = await generateApi({ spec, output: false, silent: true, fileName: "client" });
    write("client.ts", files[0]!.fileContent);
    write("use.ts", CALLS);
    assert.is(typeErrors(dir, "use.ts"), "");
    const start = 'import { Api } from "./client.ts";\nconst api = new Api();\n';
    for (const [i, mistake] of MISTAKES.entries()) {
      write(`mistake-${i}.ts`, `${start}${mistake}\n`);
      assert.match(typeErrors(dir, `mistake-${i}.ts`), `mistake-${i}.ts(3,`);
    }
    const outfile = join(dir, "use.mjs");
    const entryPoints = [join(dir, "use.ts")];
    buildSync({ entryPoints, outfile, bundle: true, format: "esm", platform: "node" });
    const { useClient } = await import(pathToFileURL(outfile).href);
    const { key, ...rest } = await useClient(gateway.url, gateway.token);
    assert.match(key, /^pk_/);
    assert.equal(rest, { names: ["typed"], choices: 1, states: [], revoked: true });
  } finally {
    await gateway.stop();
  }
});

/** What the TypeScript compiler says of a file. */
function typeErrors(dir: string, file: string): string {
  const tsc = join(packageDir, "node_modules", ".bin", "tsc");
  const options = ["--noEmit", "--pretty", "false", "--strict", "--allowImportingTsExtensions"];
  const modules = ["--module", "esnext", "--moduleResolution", "bundler", "--target", "es2022"];
  const lib = ["--skipLibCheck", "--lib", "es2023,dom", "--types", ""];
  const args = [...options, ...modules, ...lib, file];
  const { stdout, stderr } = spawnSync(tsc, args, { cwd: dir, encoding: "utf8" });
  return stdout + stderr;
}

test.run();
