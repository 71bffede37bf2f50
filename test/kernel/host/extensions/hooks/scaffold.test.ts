import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { editorConfig } from "../../../../../plugins/management/commands/editor-config.ts";
import { test } from "../../../../support/suite.ts";
import * as assert from "uvu/assert";
import { parseHookMd } from "../../../../../kernel/host/extensions/hooks/front-matter.ts";
import { declaredEvents } from "../../../../support/sources/declared-events.ts";
import { hookFiles, writeHook } from "../../../../../plugins/management/commands/hook-template.ts";
import { writeDirectory } from "../../../../../plugins/management/commands/write-directory.ts";
import { temporaryDir } from "../../../../support/temporary.ts";

const packageDir = join(import.meta.dirname, "../../../../..");
const tsc = join(packageDir, "node_modules/typescript/bin/tsc");

/** The errors of a real tsc in a directory, by file. */
function typeCheck(root: string): Record<string, string> {
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", root, "--pretty", "false"], {
    cwd: root,
    encoding: "utf8",
  });
  const errors: Record<string, string> = {};
  let file = "";
  for (const line of stdout.trim().split("\n").filter(Boolean)) {
    // A line that goes on with the one before is set in.
    if (!line.startsWith(" ")) file = /^(.*?)\(\d+,\d+\): error /.exec(line)?.[1] ?? line;
    errors[file] = `${errors[file] ?? ""}${line}\n`;
  }
  assert.is(status === 0, stdout === "", stdout);
  return errors;
}

/** Errors in these files and no others, which say what belongs to each. */
function assertErrors(errors: Record<string, string>, expected: Record<string, RegExp>): void {
  assert.equal(
    Object.keys(errors).sort(),
    Object.keys(expected).sort(),
    Object.values(errors).join(""),
  );
  for (const [file, pattern] of Object.entries(expected)) assert.match(errors[file] ?? "", pattern);
}

const knownEvents = await declaredEvents();

/**
 * Directories of hooks, by name, with the way to write each. One run of tsc takes as long as many files: it checks them
 * all, as each directory's own tsconfig.json says.
 */
const written: Record<string, (root: string) => void> = {};
let errors: Record<string, string> = {};

test.before(() => {
  const all = temporaryDir("portico-scaffold-");
  writeFileSync(join(all, "tsconfig.json"), editorConfig(packageDir));
  for (const [name, write] of Object.entries(written)) {
    write(join(all, name));
    assert.is(readFileSync(join(all, name, "tsconfig.json"), "utf8"), editorConfig(packageDir));
  }
  errors = typeCheck(all);
});

/** The errors in one directory, by file. */
function errorsIn(name: string): Record<string, string> {
  const own = Object.entries(errors).filter(([file]) => file.startsWith(`${name}/`));
  return Object.fromEntries(own.map(([file, text]) => [file.slice(name.length + 1), text]));
}

written["typescript"] = (root) => {
  for (const [event, outline] of Object.entries(knownEvents)) {
    writeHook(root, editorConfig(packageDir), {
      name: event.replace(":", "-"),
      events: [{ name: event, outline }],
    });
  }
  writeHook(root, editorConfig(packageDir), {
    name: "two",
    events: ["command:new", "message:received"].map((name) => ({
      name,
      outline: knownEvents[name] as never,
    })),
  });
  writeHook(root, editorConfig(packageDir), {
    name: "unknown-event",
    events: [{ name: "my:event" }],
  });
};
test("a hook for every event of the contract type-checks as it is written, in any directory", () => {
  assertErrors(errorsIn("typescript"), {});
  assert.ok(
    Object.keys(errors).every((file) => written[file.split("/")[0] ?? ""]),
    Object.keys(errors).join(" "),
  );
});

test("types are found where Portico is an installed package, without any paths in tsconfig.json", () => {
  const root = temporaryDir("portico-installed-");
  const installed = join(root, "node_modules/portico");
  cpSync(join(packageDir, ".build/types"), join(installed, ".build/types"), { recursive: true });
  cpSync(join(packageDir, "package.json"), join(installed, "package.json"));
  // Its dependencies and no others: what only the development of Portico needs is not there.
  const { dependencies } = JSON.parse(readFileSync(join(packageDir, "package.json"), "utf8"));
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(root, "node_modules", name)), { recursive: true });
    symlinkSync(join(packageDir, "node_modules", name), join(root, "node_modules", name));
  }
  const compilerOptions = {
    module: "nodenext",
    target: "es2023",
    strict: true,
    noEmit: true,
    types: [],
  };
  writeFileSync(join(root, "package.json"), '{ "type": "module" }');
  writeFileSync(join(root, "tsconfig.json"), JSON.stringify({ compilerOptions }));
  const hook = (field: string) =>
    `import type { HookHandler } from "portico";\nconst handler: HookHandler<"message:received"> = async (event, ctx) => {\n  event.context.${field} = await ctx.chat("Shorten: " + event.context.content);\n};\nexport default handler;\n`;
  writeFileSync(join(root, "handler.ts"), hook("content"));
  writeFileSync(
    join(root, "plugin.ts"),
    `import { definePlugin } from "portico";\nimport type { ChatProvider } from "portico/chat";\nconst provider: ChatProvider = { name: "p", async *stream() { yield "hello"; } };\nexport default definePlugin({ name: "p", setup(ctx) { ctx.add("provider", provider); } });\n`,
  );
  writeFileSync(join(root, "wrong.ts"), hook("contents"));
  assertErrors(typeCheck(root), { "wrong.ts": /'contents' does not exist/ });
});

const wrongLines: [name: string, line: string, message: RegExp][] = [
  ["unknown", "event.context.contents;", /contents/],
  ["type", "event.context.content = 42;", /number/],
  ["fixed", "event.context.source = 'x';", /read-only/],
  ["effect", "return { answer: 'x' };", /answer/],
];
written["javascript"] = (root) => {
  for (const [event, outline] of Object.entries(knownEvents)) {
    const hook = {
      name: event.replace(":", "-"),
      events: [{ name: event, outline }],
      script: true,
    };
    writeHook(root, editorConfig(packageDir), hook);
  }
  const text = readFileSync(join(root, "message-received/handler.js"), "utf8");
  for (const [name, line] of wrongLines) {
    mkdirSync(join(root, name));
    writeFileSync(
      join(root, name, "handler.js"),
      text.replace("  ctx.log.info", `  ${line}\n  ctx.log.info`),
    );
  }
};
test("a hook in plain JavaScript has the same types, by JSDoc", () => {
  const expected = wrongLines.map(([name, , message]) => [`${name}/handler.js`, message]);
  assertErrors(errorsIn("javascript"), Object.fromEntries(expected));
});

const wrongBodies: [body: string, message: RegExp][] = [
  ["event.context.content;", /content/],
  ['if (event.name === "agent:bootstrap") event.context.content;', /content/],
  ['if (event.name === "message:received") event.context.content = 42;', /number/],
  ["return { reply: 1 };", /number|HandlerResult|reply/],
  ["ctx.nothing;", /nothing/],
];
written["contexts"] = (root) => {
  const outline = knownEvents["message:received"];
  writeHook(root, editorConfig(packageDir), {
    name: "typed",
    events: [{ name: "message:received", ...(outline ? { outline } : {}) }],
  });
  const handler = (body: string) =>
    `import type { HookHandler } from "portico";\nimport { readFile } from "node:fs/promises";\nconst handler: HookHandler<"message:received" | "agent:bootstrap"> = async (event, ctx) => {\n  void readFile; ${body}\n};\nexport default handler;\n`;
  const right =
    'if (event.name === "message:received") { event.context.content = event.context.source; return { reply: await ctx.chat("x") }; } event.context.bootstrapFiles.length;';
  writeFileSync(join(root, "typed/handler.ts"), handler(right));
  for (const [i, [body]] of wrongBodies.entries())
    writeFileSync(join(root, `typed/wrong-${i}.ts`), handler(body));
};
test("each event has a context type of its own", () => {
  const expected = wrongBodies.map(([, message], i) => [`typed/wrong-${i}.ts`, message]);
  assertErrors(errorsIn("contexts"), Object.fromEntries(expected));
});

const effectHook = (event: string, body: string) =>
  `import type { HookHandler } from "portico";\nconst handler: HookHandler<"${event}"> = async (event) => {\n  ${body}\n};\nexport default handler;\n`;
const wrongEffects = {
  "an event that nobody declares": effectHook("message:recieved", ""),
  "a reply to an event that takes none": effectHook("message:sent", 'return { reply: "no" };'),
  "a block of an event that takes none": effectHook("agent:bootstrap", 'return { block: "no" };'),
  "a write to a fixed field": effectHook("message:received", 'event.context.source = "me";'),
  "a write to a field of an event that has none to change": effectHook(
    "message:sent",
    'event.context.content = "x";',
  ),
};
written["effects"] = (root) => {
  writeHook(root, editorConfig(packageDir), {
    name: "strict",
    events: [{ name: "message:received" }],
  });
  const right = effectHook(
    "message:received",
    'event.context.content = "x"; return { block: "no" };',
  );
  // Plain JavaScript gets the same by JSDoc.
  const script = (body: string) =>
    `// @ts-check\n/** @type {import("portico").HookHandler<"message:received">} */\nexport default async (event) => {\n  ${body}\n};\n`;
  const scripts = {
    right: script('event.context.content = "x";'),
    wrong: script('event.context.source = "me";'),
  };
  for (const [name, text] of Object.entries({ ...wrongEffects, right }))
    writeFileSync(join(root, `strict/${name.replaceAll(" ", "-")}.handler.ts`), text);
  for (const [name, text] of Object.entries(scripts))
    writeFileSync(join(root, `strict/${name}.mjs`), text);
};
test("types follow what an event lets handlers do", () => {
  const names = Object.keys(wrongEffects).map(
    (name) => `strict/${name.replaceAll(" ", "-")}.handler.ts`,
  );
  assert.equal(Object.keys(errorsIn("effects")).sort(), [...names, "strict/wrong.mjs"].sort());
});

test("created files are valid, private, and never overwritten", () => {
  const root = temporaryDir("portico-scaffold-");
  const hook = {
    name: "hello",
    events: [{ name: "message:received" }],
    description: 'says: "hi" # always',
  };
  const dir = writeHook(join(root, "hooks"), editorConfig(packageDir), hook);
  assert.equal(readdirSync(dir).sort(), ["HOOK.md", "handler.ts"]);
  for (const path of [dir, join(dir, "HOOK.md"), join(dir, "handler.ts")])
    assert.is(statSync(path).mode & 0o077, 0, path);
  const { meta, warnings } = parseHookMd(hookFiles(hook)["HOOK.md"] ?? "");
  assert.equal(
    [meta.name, meta.events, meta.description, warnings],
    ["hello", ["message:received"], hook.description, []],
  );
  assert.throws(
    () => writeHook(join(root, "hooks"), editorConfig(packageDir), hook),
    /already exists/,
  );
});

test("the editor's files follow a moved installation, but changes by the user stay", () => {
  const root = temporaryDir("portico-scaffold-");
  const write = (name: string, from: string) => {
    writeHook(root, editorConfig(from), { name, events: [{ name: "message:received" }] });
    return readFileSync(join(root, "tsconfig.json"), "utf8");
  };
  assert.match(write("one", "/opt/old/portico"), /old\/portico\/\.build/);
  assert.is(write("two", packageDir), editorConfig(packageDir));
  const own = editorConfig("/opt/old/portico").replace('"strict": true', '"strict": false');
  writeFileSync(join(root, "tsconfig.json"), own);
  assert.is(write("three", packageDir), own);
});

test("a hook that cannot be written completely is not created, so that no gateway reads a part of it", () => {
  const root = temporaryDir("portico-scaffold-");
  const dir = join(root, "half");
  assert.throws(() => writeDirectory(dir, { "HOOK.md": "", "none/handler.ts": "" }), /ENOENT/);
  assert.equal(readdirSync(root), []);
  writeDirectory(dir, { "HOOK.md": "" });
  assert.equal(readdirSync(root), ["half"]);
});

test.run();
