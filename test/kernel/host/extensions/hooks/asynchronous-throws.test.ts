/** A hook that throws later, in any asynchronous way that Node has: the gateway lives, and the hook is blamed. */
import * as assert from "uvu/assert";
import { type SpawnedGateway, spawnGateway } from "../../../../support/gateway.ts";
import { suite } from "../../../../support/suite.ts";
import { until } from "../../../../support/until.ts";

/**
 * The body of a handler for each way, which throws an error with the text `late` after the handler returned.
 * None holds a word such as `async` or `await` unless the way needs it.
 */
const ways: Record<string, string> = {
  setTimeout: `setTimeout(() => { throw new Error("late"); }, 1);`,
  "setTimeout under a computed name": `globalThis["setT" + "imeout"](() => { throw new Error("late"); }, 1);`,
  setInterval: `const timer = setInterval(() => { clearInterval(timer); throw new Error("late"); }, 1);`,
  setImmediate: `setImmediate(() => { throw new Error("late"); });`,
  "a microtask": `queueMicrotask(() => { throw new Error("late"); });`,
  "process.nextTick": `process.nextTick(() => { throw new Error("late"); });`,
  "a detached promise": `Promise.resolve().then(() => { throw new Error("late"); });`,
  "a detached asynchronous function": `(async () => { await null; throw new Error("late"); })();`,
  "an emitter without an error handler": `const { EventEmitter } = require("node:events"); setImmediate(() => new EventEmitter().emit("error", new Error("late")));`,
  "an EventTarget": `const target = new EventTarget(); target.addEventListener("x", () => { throw new Error("late"); }); setImmediate(() => target.dispatchEvent(new Event("x")));`,
  "an aborted signal": `AbortSignal.timeout(1).addEventListener("abort", () => { throw new Error("late"); });`,
  "a stream's callback": `require("node:stream").Readable.from(["a"]).on("data", () => { throw new Error("late"); });`,
  "a destroyed stream": `new (require("node:stream").PassThrough)().destroy(new Error("late"));`,
  "a web stream": `new ReadableStream({ pull() { throw new Error("late"); } }).getReader().read();`,
  "a performance observer": `const { PerformanceObserver, performance } = require("node:perf_hooks");
    new PerformanceObserver(() => { throw new Error("late"); }).observe({ entryTypes: ["mark"] });
    performance.mark("portico-test");`,
  "a message channel": `const { port1, port2 } = new MessageChannel(); port1.on("message", () => { port1.close(); throw new Error("late"); }); port2.postMessage(1);`,
  "a broadcast channel": `const a = new BroadcastChannel("t"), b = new BroadcastChannel("t"); a.onmessage = () => { a.close(); b.close(); throw new Error("late"); }; b.postMessage(1);`,
  "a worker that throws": `new (require("node:worker_threads").Worker)("throw new Error('late')", { eval: true });`,
  "a worker's message": `const worker = new (require("node:worker_threads").Worker)("require('node:worker_threads').parentPort.postMessage(1)", { eval: true }); worker.on("message", () => { throw new Error("late"); });`,
  "a child process that ends": `require("node:child_process").execFile(process.execPath, ["-e", ""], () => { throw new Error("late"); });`,
  "a child process that cannot start": `require("node:child_process").spawn("/nowhere/late");`,
  "a socket that is refused": `require("node:net").connect(1, "127.0.0.1"); /* ECONNREFUSED */`,
  "a server's connection": `const net = require("node:net"); const server = net.createServer((socket) => { server.close(); socket.destroy(); throw new Error("late"); }).listen(0, "127.0.0.1", () => net.connect(server.address().port, "127.0.0.1").on("error", () => {}));`,
  "an HTTP response": `require("node:http").get({ port: PORT, path: "/health", host: "127.0.0.1" }, (res) => { res.resume(); throw new Error("late"); });`,
  "a fetch that fails": `fetch("http://127.0.0.1:1/");`,
  "a name lookup": `require("node:dns").lookup("127.0.0.1", () => { throw new Error("late"); });`,
  "a file's callback": `require("node:fs").stat("/", () => { throw new Error("late"); });`,
  "a file stream": `require("node:fs").createReadStream("/nowhere/late");`,
  "a watcher of a file": `const fs = require("node:fs"), path = require("node:path").join(require("node:os").tmpdir(), "late-" + process.pid); fs.writeFileSync(path, "1"); const watcher = fs.watch(path, () => { watcher.close(); fs.rmSync(path, { force: true }); throw new Error("late"); }); setTimeout(() => fs.writeFileSync(path, "2"), 10);`,
  compression: `require("node:zlib").gzip("x", () => { throw new Error("late"); });`,
  "key derivation": `require("node:crypto").pbkdf2("a", "b", 1, 8, "sha256", () => { throw new Error("late"); });`,
  "a finalization registry": `const registry = (globalThis.lateRegistry = new FinalizationRegistry(() => { throw new Error("late"); })); registry.register({}, 1);
    require("node:v8").setFlagsFromString("--expose-gc"); setImmediate(() => require("node:vm").runInNewContext("gc")());`,
  "text instead of an error": `setTimeout(() => { throw "late"; }, 1);`,
  "an error whose message cannot be read": `setTimeout(() => { throw Object.defineProperty(new Error(), "message", { get() { throw new Error("late"); } }); }, 1);`,
  "an error whose stack cannot be read": `setTimeout(() => { throw Object.defineProperty(new Error("late"), "stack", { get() { throw new Error("no stack"); } }); }, 1);`,
  "an error whose message is no text": `setTimeout(() => { throw Object.assign(new Error(), { message: { text: "late" } }); }, 1);`,
  "an error that is its own cause": `setTimeout(() => { const error = new Error("late"); error.cause = error; throw error; }, 1);`,
  "a proxy that refuses everything": `const refuse = () => { throw new Error("late"); }; setTimeout(() => { throw new Proxy({}, { get: refuse, getPrototypeOf: refuse }); }, 1);`,
  "a symbol": `setTimeout(() => { throw Symbol("late"); }, 1);`,
  "nothing at all": `setTimeout(() => { throw undefined; /* late */ }, 1);`,
  "a rejection with a proxy that refuses everything": `const refuse = () => { throw new Error("late"); }; Promise.reject(new Proxy({}, { get: refuse, getPrototypeOf: refuse }));`,
  "a returned value that cannot be read": `return { get reply() { throw new Error("late"); } };`,
  "a returned promise that cannot be read": `return { get then() { throw new Error("late"); } };`,
  "a rejection without a reason": `Promise.reject(undefined); /* late */`,
};

const test = suite<{ gateway: SpawnedGateway }>("asynchronous throws");

test.before(async (context) => {
  const names = Object.keys(ways).map((_, index) => `way-${index}`);
  const bodies = Object.values(ways);
  const files = names.flatMap((name, index) => [
    [`hooks/${name}/HOOK.md`, `---\nname: ${name}\nevents: [message:received]\n---\n`],
    [`hooks/${name}/handler.cjs`, handlerText(name, bodies[index] ?? "")],
  ]);
  context.gateway = await spawnGateway({ files: Object.fromEntries(files) });
});

const handlerText = (name: string, body: string): string =>
  `module.exports = (event) => {
  if (event.context.content.startsWith("${name} ")) {
    const PORT = Number(event.context.content.split(" ")[1]);
    ${body}
  }
};`;

async function failuresOf(gateway: SpawnedGateway, name: string): Promise<number> {
  const { hooks } = await gateway.json("GET", "/kernel/hooks");
  return hooks.find((hook: { name: string }) => hook.name === name).failures;
}

for (const [index, statement] of Object.keys(ways).entries())
  test(statement, async ({ gateway }) => {
    const name = `way-${index}`;
    await gateway.json("POST", "/v1/chat/completions", {
      model: "echo",
      messages: [{ role: "user", content: `${name} ${gateway.port}` }],
    });
    await until(`a failure of ${name}`, () => failuresOf(gateway, name), 20_000);
    assert.is(gateway.child.exitCode, null, "the gateway lives");
  });

test.after(({ gateway }) => gateway.stop());

test.run();
