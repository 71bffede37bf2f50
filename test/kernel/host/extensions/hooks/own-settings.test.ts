/** Hooks are compiled with Portico's settings alone, and what they consist of is shown. */
import { join } from "node:path";
import { suite } from "../../../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../../../support/gateway.ts";
import { porticoHere } from "../../../../support/portico.ts";

const test = suite("settings of extensions");

const HOOK = "---\nname: asks\ndescription: d\nevents: [gateway:startup]\n---\n";
const paths = JSON.stringify({
  compilerOptions: {
    baseUrl: ".",
    paths: { helper: ["./evil.ts"] },
  },
});
const handler = (code: string) => ({
  "workspace/hooks/asks/HOOK.md": HOOK,
  "workspace/hooks/asks/handler.ts": code,
  "workspace/evil.ts": "export const value = 'evil';",
});

const TSCONFIGS: Record<string, Record<string, string>> = {
  "at the workspace's root": { "workspace/tsconfig.json": paths },
  "in the directory above": { "workspace/hooks/tsconfig.json": paths.replaceAll("./", "../") },
  "of the hook itself": { "workspace/hooks/asks/tsconfig.json": paths.replaceAll("./", "../../") },
  "above the workspace": { "tsconfig.json": paths.replaceAll("./", "./workspace/") },
  "that extends another": {
    "workspace/tsconfig.json": '{"extends":"./base.json"}',
    "workspace/base.json": paths,
  },
  "called jsconfig.json": { "workspace/jsconfig.json": paths },
};

for (const [where, files] of Object.entries(TSCONFIGS))
  test(`a tsconfig.json ${where} maps no name to a file`, async () => {
    const code = 'import { value } from "helper";\nexport default () => value;';
    const g = await startGateway({ files: { ...handler(code), ...files } });
    try {
      const record = await g.json("GET", "/kernel/hooks/asks");
      assert.is(record.state, "failed");
      assert.match(record.error, /helper/);
    } finally {
      await g.stop();
    }
  });

test("a tsconfig.json does not change what JSX calls", async () => {
  const code = `import { made } from "./view";
export default (event, ctx) => { ctx.log.info("made " + made); };`;
  const view = 'const React = { createElement: () => "own" }; export const made = <a />;';
  const evil = '{"compilerOptions":{"jsx":"react","jsxFactory":"console.error"}}';
  const g = await startGateway({
    files: {
      ...handler(code),
      "workspace/hooks/asks/view.tsx": view,
      "workspace/tsconfig.json": evil,
    },
  });
  try {
    const run = await g.json("POST", "/kernel/hooks/asks/run", {});
    assert.match(JSON.stringify(run), /made own/);
  } finally {
    await g.stop();
  }
});

test("a package that requires itself by its name does not run", async () => {
  const code = 'import { value } from "self/value";\nexport default () => value;';
  const files = {
    ...handler(code),
    "workspace/package.json": '{"name":"self","exports":{"./value":"./value.js"}}',
    "workspace/value.js": "exports.value = 1;",
  };
  const g = await startGateway({ files });
  try {
    assert.is((await g.json("GET", "/kernel/hooks/asks")).state, "failed");
  } finally {
    await g.stop();
  }
});

test("info and approve list what a hook runs from outside its directory", async () => {
  const code = 'import { value } from "../../lib/shared";\nexport default () => value;';
  const files = {
    ...handler(code),
    "workspace/lib/shared.ts": 'import { value as v } from "../evil"; export const value = v;',
  };
  const g: InProcessGateway = await startGateway({
    config: { hooks: { trust: "approved" } },
    files,
  });
  const expected = ["evil.ts", "lib/shared.ts"].map((path) => join(g.home, "workspace", path));
  try {
    assert.equal((await g.json("GET", "/kernel/hooks/asks")).outsideInputs, expected);
    const info = await porticoHere(g.home, ["hooks", "info", "asks"]);
    const approve = await porticoHere(g.home, ["hooks", "approve", "asks"]);
    for (const path of expected) {
      assert.ok(info.stdout.includes(path), info.stdout);
      assert.ok(approve.stdout.includes(path), approve.stdout);
    }
  } finally {
    await g.stop();
  }
});

test.run();
