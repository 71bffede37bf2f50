/** What the agent writes is never executed: neither as code of hooks and plugins, nor as settings that choose it. */
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { temporaryDir } from "../../support/temporary.ts";
import { type ScriptedGateway, scriptedGateway } from "../agent/scripted.ts";
import { useTool } from "./support.ts";

const test = suite("what the agent writes is never executed");
const hook = (imports: string, result: string) => ({
  "HOOK.md": "---\nname: shared\ndescription: d\nevents: [gateway:startup]\n---\n",
  "handler.ts": `${imports}\nexport default () => ${result};\n`,
});
const below = (directory: string, files: Record<string, string>) =>
  Object.fromEntries(Object.entries(files).map(([name, text]) => [`${directory}/${name}`, text]));

const linked = temporaryDir("portico-linked-");
let g: ScriptedGateway;

test.before(async () => {
  g = await scriptedGateway({
    config: {
      hooks: { trust: "all" },
      plugins: { trust: "all" },
      webhooks: { mappings: { push: { message: "m", transform: "push.ts" } } },
    },
    files: {
      ...below(
        "workspace/hooks/shared",
        hook(
          'import { a } from "../../lib";\nimport { b } from "#util";\nimport { c } from "../../tools";\nimport d from "../../data.json";',
          "[a, b, c, d]",
        ),
      ),
      ...below("workspace/hooks/broken", {
        ...hook('import { x } from "../../later/module";', "x"),
        "HOOK.md": "---\nname: broken\ndescription: d\nevents: [gateway:startup]\n---\n",
      }),
      ...below("workspace/hooks/off", {
        ...hook('import { x } from "../../for-off";', "x"),
        "HOOK.md":
          "---\nname: off\ndescription: d\nenabled: false\nevents: [gateway:startup]\n---\n",
      }),
      "transforms/push.ts":
        'import { t } from "../workspace/for-transform"; export default () => t;',
      "workspace/for-transform.ts": "export const t = null;",
      "workspace/lib.ts": "export const a = 1;",
      "workspace/for-off.ts": "export const x = 1;",
      "workspace/data.json": "{}",
      "workspace/tools/index.ts": 'export { c } from "./deep/c.js";',
      "workspace/tools/deep/c.ts": "export const c = 3;",
      "workspace/src/util.ts": "export const b = 2;",
      "workspace/package.json": '{"imports":{"#util":"./src/util.ts"}}',
      "workspace/notes/fine.md": "fine",
    },
  });
  symlinkSync(join(g.home, "workspace", "lib.ts"), join(g.home, "workspace", "alias.ts"));
  symlinkSync(linked, join(g.home, "workspace", "out"));
});
test.after(() => g.stop());

const files = (action: string, path: string, more: object = {}) =>
  useTool(g, "files", { action, path, ...more });
const textOf = (path: string) => {
  const file = join(g.home, "workspace", path);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
};

const PROTECTED = {
  "an input outside the hook's directory": ["lib.ts", "./notes/../lib.ts", "LIB.TS", "alias.ts"],
  "what an import would find first": ["lib.tsx", "lib.js", "lib/index.ts", "lib/package.json"],
  "an input of an input": ["tools/index.ts", "tools/deep/c.ts", "tools/deep/c.js", "tools.ts"],
  "data that a hook imports": ["data.json"],
  "what package.json maps": ["src/util.ts", "src/util.js"],
  "settings at the root": ["package.json", "tsconfig.json", "tsconfig.base.json", "jsconfig.json"],
  "settings by another case": ["Package.json", "TSConfig.json"],
  "lock files": ["package-lock.json", "yarn.lock", "pnpm-lock.yaml", "npm-shrinkwrap.json"],
  "settings beside an input": ["tools/package.json", "tools/deep/tsconfig.json", ".pnp.cjs"],
  packages: ["node_modules/zod/index.js", "tools/node_modules/x/index.js"],
  "an import that finds nothing today": ["later/module.ts", "later/module/index.js"],
  "an input of a hook that is off": ["for-off.ts"],
  "an input of a transform that has not run": ["for-transform.ts", "for-transform.js"],
  "hooks and plugins": ["hooks/shared/handler.ts", "hooks/new/HOOK.md", "plugins/p/plugin.ts"],
  "a link that leads out": ["out/x.ts"],
};

for (const [what, paths] of Object.entries(PROTECTED))
  test(`the agent cannot write ${what}`, async () => {
    for (const path of paths) {
      const before = textOf(path);
      const wrote = await files("write", path, { content: "taken over" });
      assert.match(wrote, /^Error: /, `${path}: ${wrote}`);
      const old = before?.slice(0, 5) || "export";
      assert.match(await files("edit", path, { old, new: "taken over", all: true }), /^Error: /);
      assert.is(textOf(path), before, path);
    }
  });

for (const path of [
  ".git/hooks/pre-commit",
  "repo/.git/hooks/pre-commit",
  "repo/.GIT/config",
  ".env",
  "app/.env.local",
  ".vscode/tasks.json",
  "app/.idea/workspace.xml",
])
  test(`the default list denies ${path}`, async () => {
    assert.match(await files("write", path, { content: "x" }), /^Error: /);
    assert.is(textOf(path), undefined);
  });

test("the agent can write everywhere else in the workspace", async () => {
  for (const path of ["notes/new.md", "app/lib.ts", "app/package.json", "library.ts", "lib.md"])
    assert.match(await files("write", path, { content: "x" }), /^Wrote/, path);
  assert.match(await files("edit", "notes/fine.md", { old: "fine", new: "good" }), /^Changed/);
});

test("the memory tool obeys the same rules", async () => {
  assert.match(await useTool(g, "memory", { action: "append", text: "x" }), /^Saved/);
});

test("agents.defaults.files.deny replaces the default list", async () => {
  const deny = ["drafts/*.md", "secret-*"];
  const version = (await g.request("GET", "/kernel/config")).headers.get("etag") ?? "";
  const change = { key: "agents.defaults.files.deny", value: deny };
  const headers = { "if-match": version };
  assert.is((await g.request("POST", "/kernel/config", change, { headers })).status, 200);
  assert.match(await files("write", "a/drafts/x.md", { content: "x" }), /^Error: /);
  assert.match(await files("write", "Secret-plan", { content: "x" }), /^Error: /);
  assert.match(await files("write", ".vscode/tasks.json", { content: "{}" }), /^Wrote/);
  assert.match(await files("write", "package.json", { content: "{}" }), /^Error: /);
});

test.run();
