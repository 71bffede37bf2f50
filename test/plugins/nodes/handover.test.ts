/** Files on their way: what counts as too slow, and when which side may remove what it has. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PluginContext } from "portico";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { NodeClient } from "../../../plugins/nodes/gateway/node-client.ts";
import { RequestHandler } from "../../../plugins/nodes/host/request-handler.ts";
import { Outgoing } from "../../../plugins/nodes/host/outgoing.ts";
import { TransferDirectory } from "../../../plugins/nodes/host/transfer-directory.ts";
import type { TransferCallbacks, NodeSocket } from "../../../plugins/nodes/node-socket.ts";
import type { BrowserResponse, BrowserRequest } from "portico/browser";
import { until } from "../../support/until.ts";

const dirs: string[] = [];
test.after(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true });
});

function fresh(): string {
  const dir = mkdtempSync(join(tmpdir(), "portico-handover-"));
  dirs.push(dir);
  return dir;
}

const filesIn = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

const outcome = (work: Promise<unknown>): Promise<any> =>
  work.then(
    (value) => value,
    (error) => error,
  );

/** A socket whose other end is the test: `said` collects the messages, and `stream` receives the files. */
function fakeSocket(
  stream: (parts: AsyncIterable<Buffer>, follow: TransferCallbacks) => Promise<boolean>,
) {
  const messages: any[] = [];
  const send = async (message: object): Promise<void> => void messages.push(message);
  const nodeSocket = {
    open: true,
    send,
    sendText: (text: string) => send(JSON.parse(text)),
    stream: (
      _id: number,
      _stream: number,
      parts: AsyncIterable<Buffer>,
      follow: TransferCallbacks,
    ) => stream(parts, follow),
  } as unknown as NodeSocket;
  return { messages, nodeSocket, kinds: () => messages.map(({ t }) => t) };
}

async function readAll(parts: AsyncIterable<Buffer>): Promise<boolean> {
  for await (const _part of parts);
  return true;
}

function clientOver(nodeSocket: NodeSocket): { client: NodeClient; tmp: string } {
  const tmp = fresh();
  return { tmp, client: new NodeClient({ name: "n", nodeSocket, tmp, maxFileBytes: () => 1000 }) };
}
const QUICKLY = { deadlineMs: 20, orDefaultProfile: false };
const TABS: BrowserRequest = { method: "GET", route: "/tabs" };
const UPLOAD: BrowserRequest = {
  method: "POST",
  route: "/hooks/file-chooser",
  body: { paths: ["a.txt"] },
};
const SHOT: BrowserRequest = { method: "POST", route: "/screenshot", body: {} };

test("the time for uploads does not count as the browser's", async () => {
  let arrive!: () => void;
  const gate = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const { messages, nodeSocket } = fakeSocket(async (parts) => {
    await gate;
    return readAll(parts);
  });
  const { client, tmp } = clientOver(nodeSocket);
  mkdirSync(join(tmp, "uploads"));
  writeFileSync(join(tmp, "uploads", "a.txt"), "content");
  const result = outcome(client.request(UPLOAD, QUICKLY));
  await until("the request", () => messages.length === 1);
  // A later one without files has had its time.
  assert.is((await outcome(client.request(TABS, QUICKLY))).code, "timeout");
  assert.is(client.inFlight, 1);
  arrive();
  const { code, message } = await result;
  assert.is(code, "timeout", "from now on it is");
  assert.match(message, "20 ms");
  assert.is(client.inFlight, 0);
});

test("a node receives the confirmation of its response once the file is in its place", async () => {
  const { messages, nodeSocket } = fakeSocket(readAll);
  const { client } = clientOver(nodeSocket);
  const result = client.request(SHOT, { ...QUICKLY, deadlineMs: 10_000 });
  await until("the request", () => messages.length === 1);
  client.handleAnswer({
    t: "answer",
    id: 1,
    body: { path: "" },
    files: [{ at: ["path"], name: "a.png", size: 1 }],
  });
  await client.handleChunk({ id: 1, stream: 0, content: Buffer.from("x") });
  assert.is(messages.length, 1);
  await client.handleChunk({ id: 1, stream: 0, content: Buffer.alloc(0) });
  const { body } = (await result) as { body: { path: string } };
  assert.is(readFileSync(body.path, "utf8"), "x");
  assert.equal(messages[1], { t: "received", id: 1 });
});

test("a node whose response cannot be stored is asked to stop", async () => {
  const { nodeSocket, kinds } = fakeSocket(readAll);
  const { client, tmp } = clientOver(nodeSocket);
  const result = outcome(client.request(SHOT, { ...QUICKLY, deadlineMs: 10_000 }));
  await until("the request", () => kinds().length === 1);
  // No file can be put where its directory should be.
  writeFileSync(join(tmp, "screenshots"), "");
  client.handleAnswer({
    t: "answer",
    id: 1,
    body: { path: "" },
    files: [{ at: ["path"], name: "a.png", size: 1 }],
  });
  assert.ok((await result) instanceof Error);
  assert.equal(kinds(), ["request", "cancel"]);
});

/** A node's handler, whose browser is `browser`. */
function handlerOn(
  nodeSocket: NodeSocket,
  browser: (request: BrowserRequest) => Promise<BrowserResponse> | BrowserResponse,
) {
  const tmp = fresh();
  const warned: unknown[] = [];
  const log = { warn: (about: unknown) => void warned.push(about), error() {} };
  const ctx = {
    version: "1",
    paths: { tmp },
    log,
    use: () => ({ request: async (request: BrowserRequest) => browser(request) }),
  } as unknown as PluginContext;
  let enabled = true;
  const handler = new RequestHandler({
    ctx,
    nodeSocket,
    enabled: () => enabled,
    maxFileBytes: () => 1000,
    uploads: new TransferDirectory(tmp, "uploads/from-gateway", 60_000),
    outgoing: new Outgoing(new TransferDirectory(tmp, "to-gateway", 60_000), ctx.log),
    gatewayAddress: "",
  });
  const ask = (
    id: number,
    request: BrowserRequest,
    files: { name: string; size: number }[] = [],
  ): Promise<void> =>
    handler.answer({
      t: "request",
      id,
      request,
      orDefaultProfile: false,
      files: files.map((file, at) => ({ ...file, at: ["paths", at] })),
    });
  const trace = (): BrowserResponse => {
    writeFileSync(join(tmp, "trace.zip"), "the only copy");
    return { body: { ok: true, path: join(tmp, "trace.zip") } };
  };
  return {
    handler,
    ask,
    tmp,
    warned,
    trace,
    disable: () => {
      enabled = false;
    },
  };
}
const STOP_TRACE: BrowserRequest = { method: "POST", route: "/trace/stop", body: {} };

test("a node removes a file only when the gateway has it", async () => {
  const { nodeSocket } = fakeSocket(readAll);
  const at = handlerOn(nodeSocket, () => at.trace());
  await at.ask(1, STOP_TRACE);
  assert.equal(filesIn(at.tmp), ["trace.zip"]);
  await at.handler.confirmReceived(1);
  assert.equal(filesIn(at.tmp), []);
  assert.equal(at.warned, []);
});

test("a node keeps a file that has not arrived and reports its path", async () => {
  const cut = fakeSocket(async () => false);
  const at = handlerOn(cut.nodeSocket, () => at.trace());
  await at.ask(1, STOP_TRACE);
  assert.equal(filesIn(at.tmp), ["trace.zip"]);
  assert.is(
    readFileSync((at.warned as { path: string }[])[0]?.path ?? "", "utf8"),
    "the only copy",
  );

  const whole = fakeSocket(readAll);
  const late = handlerOn(whole.nodeSocket, () => late.trace());
  await late.ask(1, STOP_TRACE);
  await late.ask(2, STOP_TRACE);
  late.handler.connectionEnded();
  await late.handler.confirmReceived(1);
  assert.equal(filesIn(late.tmp), ["trace.zip", "trace.zip"], "of two of one name, both");
  assert.is(late.warned.length, 2);
});

test("a screenshot that has not arrived is not kept, since another can be taken", async () => {
  const { nodeSocket } = fakeSocket(async () => false);
  const at = handlerOn(nodeSocket, () => {
    writeFileSync(join(at.tmp, "a.png"), "");
    return { body: { ok: true, path: join(at.tmp, "a.png") } };
  });
  await at.ask(1, SHOT);
  await until("it to go", () => filesIn(at.tmp).length === 0);
  assert.equal(at.warned, []);
});

test("the file of a cancelled request is kept and not sent", async () => {
  const { nodeSocket, messages } = fakeSocket(readAll);
  const at = handlerOn(nodeSocket, () => {
    at.handler.cancel(1);
    return at.trace();
  });
  await at.ask(1, STOP_TRACE);
  assert.equal(messages, []);
  assert.equal(filesIn(at.tmp), ["trace.zip"]);
  assert.is(at.warned.length, 1);
});

test("uploads stay for the page until no browser runs, but those of a failed request are removed at once", async () => {
  let running = true;
  const { nodeSocket, messages } = fakeSocket(readAll);
  const at = handlerOn(nodeSocket, ({ route, body }) => {
    if (route === "/profiles") return { body: { profiles: [{ name: "portico", running }] } };
    if (route === "/act") throw new Error("covered");
    return {
      body: {
        ok: true,
        read: (body?.["paths"] as string[])?.map((path) => readFileSync(path, "utf8")),
      },
    };
  });
  const uploads = join(at.tmp, "uploads/from-gateway");
  const carry = async (id: number, route: string, ...parts: string[]): Promise<void> => {
    const body = { paths: [""] };
    const done = at.ask(id, { method: "POST", route, body }, [{ name: "a.txt", size: 4 }]);
    for (const part of [...parts])
      await at.handler.chunk({ id, stream: 0, content: Buffer.from(part) });
    await done;
  };
  await carry(1, "/hooks/file-chooser", "four", "");
  assert.equal(messages.at(-1).body.read, ["four"]);
  await carry(2, "/act", "four", "");
  await carry(3, "/act", "more than four");
  assert.is(messages.at(-1).t, "error");
  assert.equal(filesIn(uploads), ["a.txt"]);
  assert.is(readdirSync(uploads).length, 1);
  await at.ask(4, { method: "POST", route: "/stop", body: {} });
  assert.equal(filesIn(uploads), ["a.txt"], "another profile's browser may still read it");
  running = false;
  await at.ask(5, { method: "POST", route: "/stop", body: {} });
  assert.equal(filesIn(at.tmp), []);
});

test("an old file is removed when a new one arrives", async () => {
  const tmp = fresh();
  const directory = new TransferDirectory(tmp, "directory", 60_000);
  const [old, young] = [await directory.create(), await directory.create()];
  writeFileSync(join(old, "a"), "");
  utimesSync(old, 1, 1);
  const now = await directory.create();
  assert.equal(
    new Set(readdirSync(join(tmp, "directory")).map((name) => join(tmp, "directory", name))),
    new Set([young, now]),
  );
});

test("a node that offers no browser does not announce its profiles", async () => {
  const { nodeSocket } = fakeSocket(readAll);
  const at = handlerOn(nodeSocket, () => ({ body: { profiles: [{ name: "private" }] } }));
  const offered = async () => {
    const { browser, profiles } = await at.handler.hello();
    return { browser, profiles };
  };
  assert.equal(await offered(), { browser: true, profiles: ["private"] });
  at.disable();
  assert.equal(await offered(), { browser: false, profiles: [] });
});

test.run();
