/** The parts of node hosts without a network: policies on top of each other, files part by part, places in a body. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "../../support/suite.ts";
import { exactJson } from "portico";
import * as assert from "uvu/assert";
import { narrowConfig } from "../../../plugins/browser/targets/imposed-policy.ts";
import type { BrowserConfig } from "../../../plugins/browser/schema.ts";
import { packRequest } from "../../../plugins/nodes/gateway/request-files.ts";
import { fileSink, Incoming, memorySink } from "../../../plugins/nodes/incoming.ts";
import {
  packChunk,
  setAt,
  unpackChunk,
  uploadPaths,
  valueAt,
} from "../../../plugins/nodes/wire.ts";

const dirs: string[] = [];
const fresh = (): string => {
  const dir = mkdtempSync(join(tmpdir(), "portico-parts-"));
  dirs.push(dir);
  return dir;
};
test.after(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true });
});

const failureOf = async (work: Promise<unknown>): Promise<any> =>
  work.then(
    () => undefined,
    (error) => error,
  );

function policy(
  own: object,
  imposed: object,
): { private?: boolean; list: string[]; exempt: string[]; evaluate: boolean } {
  const ssrfPolicy = { hostnameAllowlist: [], allowedHostnames: [], ...own };
  const config = { evaluateEnabled: true, ssrfPolicy } as unknown as BrowserConfig;
  const base = {
    allowPrivate: true,
    hostnameAllowlist: [],
    allowedHostnames: [],
    evaluateEnabled: true,
    ports: [],
  };
  const result = narrowConfig(config, { ...base, ...imposed });
  return {
    private: result.ssrfPolicy.dangerouslyAllowPrivateNetwork,
    list: result.ssrfPolicy.hostnameAllowlist,
    exempt: result.ssrfPolicy.allowedHostnames,
    evaluate: result.evaluateEnabled,
  };
}

test("two combined policies allow only what both allow", () => {
  assert.is(policy({}, {}).private, true);
  assert.is(policy({ dangerouslyAllowPrivateNetwork: false }, {}).private, false);
  assert.is(policy({ allowPrivateNetwork: false }, {}).private, false);
  assert.is(policy({}, { allowPrivate: false }).private, false);
  assert.is(policy({}, { evaluateEnabled: false }).evaluate, false);
  assert.equal(policy({ hostnameAllowlist: ["a.d"] }, {}).list, ["a.d"]);
  assert.equal(policy({}, { hostnameAllowlist: ["a.d"] }).list, ["a.d"]);
  const both = (a: string[], b: string[]): string[] =>
    policy({ hostnameAllowlist: a }, { hostnameAllowlist: b }).list;
  assert.equal(both(["*.d", "x.y"], ["a.d", "*.y", "q.z"]), ["a.d", "x.y"]);
  assert.equal(both(["*.b.d"], ["*.d"]), ["*.b.d"]);
  assert.equal(both(["*.D "], ["a.d"]), ["a.d"]);
  assert.equal(both(["*"], ["a.d"]), ["a.d"]);
  assert.equal(
    both(["d"], ["*.d"]),
    ["nothing.invalid"],
    "*.d leaves out d; an empty list would let everything through",
  );
  assert.equal(both(["notd"], ["*.d"]), ["nothing.invalid"]);
});

test("exemptions apply to the side that forbids", () => {
  const closed = { dangerouslyAllowPrivateNetwork: false };
  assert.equal(policy({ ...closed, allowedHostnames: ["a"] }, { allowedHostnames: ["b"] }).exempt, [
    "a",
  ]);
  assert.equal(
    policy({ allowedHostnames: ["a"] }, { allowPrivate: false, allowedHostnames: ["b"] }).exempt,
    ["b"],
  );
  const ab = { allowPrivate: false, allowedHostnames: ["b", "c"] };
  assert.equal(policy({ ...closed, allowedHostnames: ["a", "b"] }, ab).exempt, ["b"]);
});

test("a file arrives in parts and is complete or absent", async () => {
  const dir = fresh();
  const good = new Incoming(fileSink(dir, "good.txt"), 6);
  for (const part of ["abc", "def", ""]) await good.take(Buffer.from(part));
  assert.is(readFileSync(await good.done, "utf8"), "abcdef");
  const long = new Incoming(fileSink(dir, "long.txt"), 2);
  await long.take(Buffer.from("abc"));
  assert.is((await failureOf(long.done)).code, "node_unavailable");
  const short = new Incoming(fileSink(dir, "short.txt"), 9);
  for (const part of ["abc", ""]) await short.take(Buffer.from(part));
  assert.ok(await failureOf(short.done));
  const refused = new Incoming(fileSink(dir, "../out.txt"), 1);
  assert.is((await failureOf(refused.done)).code, "invalid_request_error");
  assert.equal(readdirSync(dir), ["good.txt"]);
  const silent = new Incoming(Promise.resolve(memorySink()), 1);
  assert.is(
    await failureOf(silent.withoutStall(20, new Error("late"))).then(String),
    "Error: late",
  );
});

test("frames keep their head", () => {
  const chunk = unpackChunk(packChunk(4_000_000_000, 999, Buffer.from("x")));
  assert.equal([chunk.id, chunk.stream, chunk.content.toString()], [4_000_000_000, 999, "x"]);
  assert.throws(() => unpackChunk(Buffer.from([1, 2, 3])));
});

test("paths are read and written on own properties only", () => {
  const body = { actions: [{ paths: ["a", 1, "b"] }], paths: ["c"] };
  const places = uploadPaths({ method: "POST", route: "/act", body });
  assert.equal(places, [
    ["paths", 0],
    ["actions", 0, "paths", 0],
    ["actions", 0, "paths", 2],
  ]);
  setAt(body, ["actions", 0, "paths", 2], "z");
  assert.is(valueAt(body, ["actions", 0, "paths", 2]), "z");
  setAt(body, ["__proto__", "polluted"], true);
  assert.is(({} as Record<string, unknown>)["polluted"], undefined);
  assert.is(valueAt(body, ["constructor", "name"]), undefined);
});

test("a request is packed with its files and without members that concern only this machine", async () => {
  const tmp = fresh();
  mkdirSync(join(tmp, "uploads"));
  writeFileSync(join(tmp, "uploads", "a.txt"), "12345");
  const armed = {
    method: "POST",
    route: "/hooks/file-chooser",
    body: { paths: ["a.txt"] },
  } as const;
  const packed = await packRequest(structuredClone(armed) as never, "n", tmp, 100);
  assert.equal(packed.files, [{ at: ["paths", 0], name: "a.txt", size: 5 }]);
  assert.equal(packed.request.body, { paths: [""] });
  assert.is(
    (await failureOf(packRequest(structuredClone(armed) as never, "n", tmp, 4))).param,
    "paths[0]",
  );
  const wish = { method: "POST", route: "/download", body: { ref: 1, path: "x/y.txt" } } as const;
  const download = await packRequest(wish as never, "n", tmp, 100);
  assert.equal(download.request.body, { ref: 1 });
  assert.equal(wish.body, { ref: 1, path: "x/y.txt" }, "the caller's own request stays as it was");
  const fields = exactJson.parse('[{"ref":1,"value":9007199254740993}]');
  const long = { method: "POST", route: "/act", body: { kind: "fill", fields } };
  const sent = await packRequest(long as never, "n", tmp, 100);
  assert.is(
    exactJson.stringify(sent.request.body),
    '{"kind":"fill","fields":[{"ref":1,"value":9007199254740993}]}',
  );
  const request = { method: "POST", route: "/trace/stop", query: { path: "../up.zip" } } as const;
  assert.is((await failureOf(packRequest(request as never, "n", tmp, 100))).param, "path");
});

test.run();
