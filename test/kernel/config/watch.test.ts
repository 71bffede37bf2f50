import { type Dispose, PorticoError, type WorkerLink } from "portico";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import type { ConfigOptions } from "../../../kernel/config/read.ts";
import type { ConfigChange } from "../../../kernel/config/diff.ts";
import { until } from "../../support/until.ts";
import { collectLog, type Line } from "../../support/collect-log.ts";
import { openWith } from "./store.ts";

async function watching(
  text: string,
  react: (change: ConfigChange) => unknown = () => {},
  options: Partial<ConfigOptions> = {},
) {
  const lines: Line[] = [];
  const opened = await openWith(text, options);
  const changes: ConfigChange[] = [];
  const stop: Dispose = await opened.config.watch(async (change) => {
    changes.push(change);
    await react(change);
  }, collectLog(lines));
  return { ...opened, changes, stop, lines };
}

test("a saved change is applied, with the keys that differ", async () => {
  const { config, write, changes, stop } = await watching(
    '{ gateway: { port: 1 }, channels: { a: { provider: "x" } } }',
  );
  write(
    '{ gateway: { port: 2 }, channels: { a: { provider: "x", weight: 3 }, b: { provider: "y" } }, log: { level: "warn" } }',
  );
  await until("the change", () => changes.length > 0);
  assert.equal(changes[0]!.keys.sort(), [
    "channels.a.weight",
    "channels.b",
    "gateway.port",
    "log.level",
  ]);
  assert.is(config.kernel.gateway.port, 2);
  assert.is((changes[0]!.previous["gateway"] as { port: number }).port, 1);
  assert.is(changes[0]!.next, config.current);
  await stop();
});

test("a change that another process overtakes is not an error", async () => {
  let isOvertaken = true;
  const agree = async () => {
    if (isOvertaken) throw new PorticoError("conflict", "another version has arrived");
  };
  const link = { agree } as unknown as WorkerLink;
  const { config, write, changes, stop, lines } = await watching(
    "{ gateway: { port: 1 } }",
    () => {},
    { link },
  );
  write("{ gateway: { port: 2 } }");
  await until("it and the way back", () => changes.length >= 2);
  await config.refresh();
  assert.equal([config.problem, config.kernel.gateway.port], [undefined, 1]);
  isOvertaken = false;
  await config.refresh();
  assert.is(config.kernel.gateway.port, 2);
  assert.equal(lines, []);
  await stop();
});

test("a save without a difference applies nothing", async () => {
  const { write, changes, config, stop } = await watching("{ gateway: { port: 1 } }");
  write("{ gateway: { port: 1 }, log: {} } // says the same");
  await until("the new text", () => config.raw["log"]);
  write("{ gateway: { port: 3 } }");
  await until("the change", () => changes.length > 0);
  assert.equal(
    changes.map(({ keys }) => keys),
    [["gateway.port"]],
  );
  await stop();
});

test("a broken file changes nothing, is logged with its line, and a repair clears the problem", async () => {
  const { config, write, changes, stop, lines } = await watching("{\n  gateway: { port: 1 },\n}");
  write("{\n  gateway: { port: 2 ,\n");
  await until("the problem", () => config.problem);
  assert.is(config.problem?.line, 2);
  assert.match(config.problem!.message, "never closed");
  assert.is(config.kernel.gateway.port, 1);
  assert.ok(
    lines.some(({ fields, message }) => fields["line"] === 2 && message?.includes("never closed")),
  );
  write('{\n  gateway: { port: 2 },\n  log: { level: "loud" },\n}');
  await until("the next problem", () => config.problem?.line === 3);
  assert.is(config.kernel.gateway.port, 1);
  assert.is(changes.length, 0);
  write("{\n  gateway: { port: 1 },\n}");
  await until("the mending", () => config.problem === undefined);
  assert.is(changes.length, 0);
  await stop();
});

test("a swapped, removed or new file is noticed", async () => {
  const { config, file, write, changes, stop } = await watching("{ gateway: { port: 1 } }");
  writeFileSync(`${file}~`, "{ gateway: { port: 2 } }");
  renameSync(`${file}~`, file);
  await until("the swap", () => config.kernel.gateway.port === 2);
  rmSync(file);
  await until("the problem", () => config.problem);
  assert.is(config.kernel.gateway.port, 2);
  write("{ gateway: { port: 3 } }");
  await until("the new file", () => config.kernel.gateway.port === 3);
  assert.is(config.problem, undefined);
  assert.is(changes.length, 2);
  await stop();
});

test("a file that is emptied and then written is never taken for empty", async () => {
  const { config, write, changes, stop } = await watching("{ gateway: { port: 1 } }");
  for (let port = 2; port < 6; port++) {
    write("");
    write("{ gateway:");
    write(`{ gateway: { port: ${port} } }`);
    await until(`port ${port}`, () => config.kernel.gateway.port === port);
  }
  for (const { next } of changes) assert.ok((next["gateway"] as { port: number }).port < 6);
  await stop();
});

test("an apply that fails brings the previous one back", async () => {
  const { config, write, stop } = await watching("{ gateway: { port: 1 } }", ({ next }) => {
    if ((next["gateway"] as { port: number }).port === 2) throw new Error("port 2 is cursed");
  });
  write("{ gateway: { port: 2 } }");
  await until("the problem", () => config.problem);
  assert.match(config.problem!.message, "could not be applied: port 2 is cursed");
  assert.is(config.kernel.gateway.port, 1);
  write("{ gateway: { port: 3 } }");
  await until("the next one", () => config.kernel.gateway.port === 3);
  assert.is(config.problem, undefined);
  await stop();
});

test("a plugin that accepted a change that another refused receives the change back, with the same keys", async () => {
  let applied = 0;
  const { config, changes, write, stop } = await watching(
    "{ gateway: { port: 1 } }",
    ({ next, back }) => {
      applied = (next["gateway"] as { port: number }).port;
      if (applied === 2 && !back) throw new Error("port 2 is cursed");
    },
  );
  write("{ gateway: { port: 2 } }");
  await until("the problem", () => config.problem);
  assert.is(applied, 1);
  assert.equal(
    changes.map(({ keys, back, next }) => [keys, back, (next["gateway"] as { port: number }).port]),
    [
      [["gateway.port"], false, 2],
      [["gateway.port"], true, 1],
    ],
  );
  await stop();
});

test("set leaves nothing on the disk that could not be applied", async () => {
  const { config, text, stop } = await watching(
    "{ gateway: { port: 1 } } // mine",
    ({ next, back }) => {
      if ((next["gateway"] as { port: number }).port === 2 && !back)
        throw new Error("port 2 is cursed");
    },
  );
  const complaint = await config.set("gateway.port", 2).then(
    () => "none",
    (error: Error) => error.message,
  );
  assert.match(complaint, "port 2 is cursed");
  assert.is(text(), "{ gateway: { port: 1 } } // mine");
  assert.is(config.kernel.gateway.port, 1);
  assert.is(config.problem, undefined);
  await config.set("gateway.port", 3);
  assert.is(config.kernel.gateway.port, 3);
  await stop();
});

test("a set is active, applied once, when it resolves", async () => {
  const { config, changes, write, stop } = await watching("{}");
  await config.set("gateway.port", 7);
  assert.equal(
    changes.map(({ keys }) => keys),
    [["gateway.port"]],
  );
  write("{ gateway: { port: 8 } }");
  await until("the file's change", () => config.kernel.gateway.port === 8);
  assert.is(changes.length, 2);
  try {
    await config.set("channels.a", { provider: "x", apiKey: "${NOT_SET}" });
    assert.unreachable();
  } catch (error) {
    assert.match((error as Error).message, "NOT_SET, which is not set");
  }
  await stop();
});

test("a change from before the start of the watcher is noticed", async () => {
  const { config, write } = await openWith("{ gateway: { port: 1 } }");
  write("{ gateway: { port: 2 } }");
  const keys: string[][] = [];
  const stop = await config.watch(async (change) => void keys.push(change.keys));
  assert.equal(keys, [["gateway.port"]]);
  await stop();
});

test("after the stop nothing is applied", async () => {
  const { config, write, changes, stop } = await watching("{ gateway: { port: 1 } }");
  await stop();
  write("{ gateway: { port: 2 } }");
  const {
    config: other,
    write: writeOther,
    stop: stopOther,
  } = await watching("{ gateway: { port: 1 } }");
  writeOther("{ gateway: { port: 2 } }");
  await until("another watcher's change", () => other.kernel.gateway.port === 2);
  assert.is(config.kernel.gateway.port, 1);
  assert.is(changes.length, 0);
  await stopOther();
});

test.run();
