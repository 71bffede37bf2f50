import { test } from "../../../../support/suite.ts";
import * as assert from "uvu/assert";
import { parseHookMd } from "../../../../../kernel/host/extensions/hooks/front-matter.ts";
import { LoadError } from "../../../../../kernel/loader/problem.ts";

const md = (yaml: string) => `---\n${yaml}\n---\n# Body\n\n---\nmore\n`;
function refusal(text: string): LoadError {
  try {
    parseHookMd(text);
  } catch (error) {
    assert.instance(error, LoadError);
    return error as LoadError;
  }
  throw new Error("it was accepted");
}

test("fields at the top level have defaults", () => {
  const { meta, warnings } = parseHookMd(md("events: [message:received, command:new]"));
  assert.equal(meta, {
    events: ["message:received", "command:new"],
    priority: 0,
    timeoutMs: 5000,
    failClosed: false,
    always: false,
    requires: { bins: [], anyBins: [], env: [], config: [] },
  });
  assert.equal(warnings, []);
});

test("every field", () => {
  const { meta } = parseHookMd(
    md(
      'name: a.b-1\ndescription: does\nevents: message:received\npriority: -2.5\nenabled: false\ntimeoutMs: 10\nexport: run\nos: [linux]\nrequires:\n  bins: [git]\n  anyBins: [a, b]\n  env: X\n  config: [a.b]\nalways: true\nhomepage: https://x.example\nemoji: "🪝"',
    ),
  );
  assert.equal(meta.name, "a.b-1");
  assert.equal(meta.events, ["message:received"]);
  assert.equal(
    [meta.priority, meta.enabled, meta.timeoutMs, meta.export, meta.always],
    [-2.5, false, 10, "run", true],
  );
  assert.equal(meta.requires, { bins: ["git"], anyBins: ["a", "b"], env: ["X"], config: ["a.b"] });
  assert.equal([meta.os, meta.homepage, meta.emoji], [["linux"], "https://x.example", "🪝"]);
});

test("metadata of existing packs: inline JSON, a map, JSON in a string", () => {
  const inline =
    'name: x\nmetadata: { "openclaw": { "emoji": "💾", "events": ["command:new"], "requires": { "bins": ["git"] }, "export": "default", "always": true, "install": [{ "id": "b" }] } }';
  for (const yaml of [
    inline,
    "metadata:\n  openclaw:\n    events: [command:new]\n    emoji: 💾\n    requires: { bins: [git] }\n    export: default\n    always: true",
    `metadata: '{"clawdbot":{"events":["command:new"],"emoji":"💾","requires":{"bins":["git"]},"export":"default","always":true}}'`,
  ]) {
    const { meta, warnings } = parseHookMd(md(yaml));
    assert.equal(meta.events, ["command:new"]);
    assert.equal(
      [meta.emoji, meta.export, meta.always, meta.requires.bins],
      ["💾", "default", true, ["git"]],
    );
    assert.equal(warnings, []);
  }
});

test("only packs may name a kind of events", () => {
  assert.equal(
    parseHookMd(md("metadata: { openclaw: { events: [command, gateway:startup] } }")).meta.events,
    ["command:*", "gateway:startup"],
  );
  assert.equal(parseHookMd(md("events: [command]")).meta.events, ["command"]);
});

test("the top level wins over metadata, Portico's own metadata over others'", () => {
  const { meta } = parseHookMd(
    md(
      "priority: 1\nmetadata:\n  other: { events: [a:b], priority: 2, timeoutMs: 3 }\n  portico: { events: [c:d], timeoutMs: 4 }",
    ),
  );
  assert.equal([meta.events, meta.priority, meta.timeoutMs], [["c:d"], 1, 4]);
});

test("code in front matter never runs", () => {
  for (const first of ["---js", "---javascript", "--- js", "---JS", "---coffee", "---json"]) {
    const error = refusal(`${first}\n{ events: [globalThis.pwned = true] }\n---\n`);
    assert.is(error.line, 1);
    assert.match(error.message, /not supported/);
  }
  assert.is((globalThis as { pwned?: boolean }).pwned, undefined);
});

test("an error says that a file has no front matter", () => {
  assert.match(refusal("").message, /must begin/);
  assert.match(refusal("# Only text\n").message, /must begin/);
  assert.match(refusal("---\nevents: [a:b]\n").message, /not closed/);
  assert.match(refusal("---\n---\n").message, /"events" is missing/);
  assert.match(refusal(md("- a\n- b")).message, /must be a map/);
});

test("errors of front matter name the line", () => {
  const cases: [string, number, RegExp][] = [
    ["events: [a:b]\nname: x\nname: y", 4, /not valid YAML/],
    ["events: [a:b\nname: x", 3, /not valid YAML/],
    ["name: x\nevents: [1]", 3, /"events" must be/],
    ["events: [a:b]\n\npriority: high", 4, /"priority" must be a number/],
    ["events: [a:b]\ntimeoutMs: 0", 3, /"timeoutMs"/],
    ["events: [a:b]\nname: ../x", 3, /"name"/],
    ["events: [a:b]\nrequires:\n  bins: 3", 4, /"requires.bins"/],
    ["metadata:\n  openclaw:\n    events: {}", 4, /"metadata.openclaw.events"/],
  ];
  for (const [yaml, line, message] of cases) {
    const error = refusal(md(yaml));
    assert.match(error.message, message);
    assert.is(error.line, line, yaml);
  }
});

test("a broken text is broken the second time too, and results are not shared", () => {
  const broken = md("events: [a:b");
  refusal(broken);
  refusal(broken);
  parseHookMd(md("events: [a:b]")).meta.events.push("x:y");
  assert.equal(parseHookMd(md("events: [a:b]")).meta.events, ["a:b"]);
});

test("aliases are refused, prototypes stay", () => {
  assert.match(refusal(md("a: &x [1]\nb: *x\nevents: [a:b]")).message, /alias/i);
  parseHookMd(md("__proto__: { polluted: true }\nevents: [a:b]"));
  assert.is(({} as { polluted?: boolean }).polluted, undefined);
});

test("Windows line ends and a byte order mark", () => {
  const { meta } = parseHookMd("\uFEFF---\r\nevents: [a:b]\r\nname: x\r\n---\r\nbody\r\n");
  assert.equal([meta.name, meta.events], ["x", ["a:b"]]);
});

test("an unknown key is reported with the nearest known one", () => {
  const { warnings } = parseHookMd(md("events: [a:b]\npriorty: 3\nlicense: MIT"));
  assert.is(warnings.length, 2);
  assert.match(warnings[0] ?? "", /"priorty" \(line 3\); did you mean "priority"\?/);
});

test("an unknown key below requires is reported too, since a misspelling would drop a requirement", () => {
  const top = parseHookMd(md("events: [a:b]\nrequires:\n  bin: [git]"));
  assert.equal(top.warnings, ['unknown key "requires.bin" (line 4); did you mean "bins"?']);
  const pack = parseHookMd(
    md("metadata:\n  acme:\n    events: [a:b]\n    requires: { envs: [X] }"),
  );
  assert.equal(pack.warnings, [
    'unknown key "metadata.acme.requires.envs" (line 5); did you mean "env"?',
  ]);
});

test.run();
