import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import * as assert from "uvu/assert";
import { runProgram } from "../../../kernel/program/program.ts";
import { loaderFor } from "../../../kernel/package-loader.ts";
import { resolvePaths } from "../../../kernel/files/paths.ts";
import { withWorkspace } from "../../../kernel/config/workspace.ts";
import { makeHome, startGateway } from "../../support/gateway.ts";
import { test } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

const env = { HOME: "/users/me", WS: "/srv/ws" };
const moved = (workspace: unknown, options = {}) =>
  withWorkspace(
    resolvePaths({ home: "/h", ...options }, env),
    { agents: { defaults: { workspace } } },
    env,
  ).workspace;

test("the configured workspace: references expanded, ~ is the home, --workspace wins", () => {
  assert.is(moved("${WS}/a"), "/srv/ws/a");
  assert.is(moved("~/ws"), "/users/me/ws");
  assert.is(moved("rel"), resolve("rel"));
  assert.is(moved("/elsewhere", { workspace: "/mine" }), "/mine");
  for (const none of [undefined, "", 1, "${NOT_SET}/a"]) assert.is(moved(none), "/h/workspace");
});

const hook = `---
events: [agent:bootstrap]
---
`;
const handler = `export default (event, ctx) => ctx.log.info({ seen: event.context.workspace, files: event.context.bootstrapFiles.filter((f) => !f.missing).map((f) => f.content) }, "workspace seen");`;
const plugin = `import { definePlugin, Type } from "portico";
export default definePlugin({
  name: "mine",
  config: { mine: Type.Object({ word: Type.String({ default: "none" }) }) },
  commands: { mine: () => import("./cli.ts") },
  setup() {},
});
`;
const cli = `import { defineCommand } from "portico/command-line";
export default defineCommand({ name: "mine", summary: "Mine", run: async (io) => io.print("it is mine") });
`;

test("gateway, agent and command line use the same workspace", async () => {
  const home = makeHome();
  const user = makeHome();
  const workspace = join(user, "ws");
  for (const [name, text] of Object.entries({
    "AGENTS.md": "Be brief.",
    "hooks/see/HOOK.md": hook,
    "hooks/see/handler.ts": handler,
    "plugins/mine/plugin.ts": plugin,
    "plugins/mine/cli.ts": cli,
  })) {
    mkdirSync(dirname(join(workspace, name)), { recursive: true, mode: 0o700 });
    writeFileSync(join(workspace, name), text, { mode: 0o600 });
  }
  for (const written of ["${WS}", "~/ws"]) {
    const variables = { WS: workspace, HOME: user };
    const config = {
      agents: { defaults: { workspace: written } },
      plugins: { trust: "workspace" },
      mine: { word: "x" },
    };
    const g = await startGateway({ home, config, env: variables });
    try {
      assert.is((await g.json("GET", "/kernel/status")).workspace, workspace);
      assert.is((await g.json("GET", "/kernel/plugins/mine")).state, "active");
      await g.json("POST", "/agent", { message: "hello", wait: true });
      const { seen: seenByHook, files } = await until("the hook's line", () =>
        g.lines.find((line) => line["msg"] === "workspace seen"),
      );
      assert.is(seenByHook, workspace);
      assert.equal(files, ["Be brief."]);
      assert.not(existsSync(written));
    } finally {
      await g.stop();
    }
    assert.match(await portico(home, variables, "config", "validate"), /is valid/);
    assert.match(await portico(home, variables, "mine"), /it is mine/);
  }
  for (const dir of [home, user]) rmSync(dir, { recursive: true, force: true });
});

async function portico(
  home: string,
  variables: Record<string, string>,
  ...argv: string[]
): Promise<string> {
  let output = "";
  const write = (text: string) => {
    output += text;
  };
  await runProgram({
    argv,
    env: { ...variables, PORTICO_HOME: home },
    cwd: home,
    version: "0.0.0-test",
    signal: new AbortController().signal,
    stdout: { write },
    stderr: { write },
    loaderFor,
  });
  return output;
}

test.run();
