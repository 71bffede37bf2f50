/** Bodies that ask for more than they are: parsers, clients that leave, upstreams that do not listen. */
import { readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { boundaryOf, createMultipartReader } from "../../../plugins/openai-routes/multipart.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { assertLinear, repeated } from "../../support/growth.ts";
import { temporaryDir } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";

const test = suite("hostile bodies of openai's routes");
let server: Server;
let gateway: InProcessGateway;

test.before(async () => {
  // It refuses at the first byte, and reads nothing more.
  server = createServer((req, res) => {
    if (req.method === "GET") return void res.end('{"data":[]}');
    res.writeHead(400, { "content-type": "application/json", connection: "close" });
    res.end('{"error":{"message":"no"}}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  gateway = await startGateway({
    config: {
      channels: {
        main: {
          provider: "openai",
          baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
        },
      },
      routes: { maxUploadBytes: 20_000_000 },
    },
  });
});
test.after(async () => {
  await gateway?.stop();
  server?.closeAllConnections();
  server?.close();
});

const TYPE = "multipart/form-data; boundary=b";
const HEAD =
  '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nmain/w\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n';

function read(text: string, cut = text.length): void {
  const reader = createMultipartReader("b");
  const bytes = Buffer.from(text, "latin1");
  for (let at = 0; at < bytes.length; at += cut) reader.push(bytes.subarray(at, at + cut));
  reader.end();
}

test("multipart bodies of any shape are read in linear time, cut or whole", () => {
  const shapes: [string, (size: number) => string][] = [
    ["line breaks", repeated("\r\n", HEAD)],
    ["near boundaries", repeated("\r\n--", HEAD)],
    ["dashes", repeated("-", HEAD)],
    ["empty parts", repeated("--b\r\n\r\n\r\n")],
    ["a head without an end", repeated("a: b\r\n", "--b\r\n")],
    [
      "a value without an end",
      repeated("x", '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\n'),
    ],
    [
      "a name without an end",
      repeated('name="', "--b\r\ncontent-disposition: form-data; ", "\r\n\r\n"),
    ],
    ["spaces", repeated("; ", "--b\r\ncontent-disposition: form-data", "\r\n\r\n")],
  ];
  for (const [what, make] of shapes) {
    assertLinear(`${what}, whole`, 50_000, make, (text) => read(text));
    assertLinear(`${what}, cut`, 5_000, make, (text) => read(text, 3));
  }
  for (const token of [";", "; ", "boundary=", '"', " boundary"])
    assertLinear(`a type of ${token}`, 5_000, repeated(token, "multipart/form-data;"), boundaryOf);
});

test("a body that another server could read in another way is refused", () => {
  const part = (head: string, value = "x") => `--b\r\n${head}\r\n\r\n${value}\r\n`;
  const named = (name: string, more = "") =>
    part(`Content-Disposition: form-data; name="${name}"${more}`);
  const good = ["a", "model", "image[]", "a%22b", "ü", "", "a; name=b"]
    .map((name) => named(name))
    .join("");
  const whole = `${good}${named("f", '; filename="a; b.wav"')}${part("Content-Disposition: form-data; name=model")}--b--\r\n`;
  for (const cut of [1, 7, whole.length]) read(whole, cut);
  const bad = [
    part("Content-Disposition: form-data; name*=UTF-8''model"),
    part("Content-Disposition: form-data; name=\"x\"; name*=UTF-8''model"),
    part('Content-Disposition: form-data; name="x"; name="model"'),
    part(
      'Content-Disposition: form-data; name="x"\r\nContent-Disposition: form-data; name="model"',
    ),
    part('Content-Disposition: form-data;\r\n name="model"'),
    part("Content-Disposition: form-data; name='model'"),
    part('Content-Disposition: form-data; name="mo\\del"'),
    part('Content-Disposition: form-data; name="mo\ndel"'),
    part('Content-Disposition: attachment; name="model"'),
    part('Content-Disposition: form-data; name="x"; filename="a"; filename="b"'),
    part('Content-Disposition : form-data; name="x"'),
    part("Content-Type: text/plain"),
    part(""),
    part('Content-Disposition: form-data; name="x"\r\nContent-Transfer-Encoding: base64'),
    '--b\nContent-Disposition: form-data; name="model"\n\nx\n',
    '--b x\r\nContent-Disposition: form-data; name="model"\r\n\r\nx\r\n',
    part(
      'Content-Disposition: form-data; name="x"',
      '\n--b\nContent-Disposition: form-data; name="model"\n\ny',
    ),
    part('Content-Disposition: form-data; name="f"; filename="a"', "x--b--"),
    `--b--\r\n${named("model")}`,
  ];
  for (const body of bad) {
    for (const cut of [1, 3, 1000])
      assert.throws(() => read(`${named("model")}${body}--b--\r\n`, cut), /cannot be read/, body);
  }
  for (const type of [
    "boundary=b; boundary=c",
    "boundary=b; boundary*=c",
    "boundary*0=b; boundary=c",
    'boundary="b',
  ]) {
    assert.is(boundaryOf(`multipart/form-data; ${type}`), undefined, type);
  }
  assert.is(boundaryOf("multipart/form-data; charset=utf-8; boundary=b"), "b");
});

test("no field beside `model` names one, however a server may read its name", async () => {
  const part = (name: string, more = "") =>
    `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\nx\r\n`;
  const names = [
    "Model",
    "MODEL",
    "models",
    "model[]",
    "models[0]",
    " model",
    "model ",
    "model\u017f",
    "model\t",
    "mod%65l",
    "model.id",
    "\uff4dodel",
  ];
  for (const more of [
    ...names.map((name) => part(name)),
    part("model", '; filename="m"'),
    part("model"),
  ]) {
    const response = await fetch(`${gateway.url}/v1/audio/transcriptions`, {
      method: "POST",
      body: `${HEAD}x\r\n${more}--b--\r\n`,
      headers: { authorization: `Bearer ${gateway.token}`, "content-type": TYPE },
    });
    const text = await response.text();
    assert.is(response.status, 400, text);
    assert.match(text, /is not a field of this request|occurs twice/, more);
  }
});

/** Files that this process keeps open without a name. */
function unseenFiles(): number {
  return readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return /portico-request-.*\(deleted\)/.test(readlinkSync(`/proc/self/fd/${fd}`));
    } catch {
      return false;
    }
  }).length;
}

test("a response that is cut before it is passed on is an error, and one that its client leaves is cut", async () => {
  const cut: { close: () => void; gone: Promise<void> }[] = [];
  const upstream = createServer((req, res) => {
    if (req.method === "GET") return void res.end('{"data":[]}');
    const closed = new Promise<void>((resolve) => res.once("close", resolve));
    res.writeHead(200, { "content-type": "application/json" });
    res.write('{"created":1,"data":[');
    cut.push({ close: () => res.destroy(), gone: closed });
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;
  const other = await startGateway({
    config: { channels: { cut: { provider: "openai", baseUrl } } },
  });
  try {
    const ask = (signal?: AbortSignal) =>
      other.request(
        "POST",
        "/v1/images/generations",
        { model: "cut/i", prompt: "x" },
        signal && { signal },
      );
    const pending = ask();
    await until("the upstream to answer", () => cut.length === 1);
    cut[0]!.close();
    const response = await pending;
    assert.is(response.status, 502, await response.clone().text());
    assert.is(((await response.json()) as any).error.code, "upstream_error");
    assert.is(response.headers.get("x-portico-channel"), "cut");
    const leaving = new AbortController();
    const left = ask(leaving.signal).catch(() => "left");
    await until("the upstream to answer again", () => cut.length === 2);
    leaving.abort();
    assert.is(await left, "left");
    await cut[1]!.gone;
    await until("the place to be free", async () => {
      const { channels } = await other.json("GET", "/channels");
      return channels.every((channel: { inFlight: number }) => channel.inFlight === 0);
    });
  } finally {
    await other.stop();
    upstream.closeAllConnections();
    upstream.close();
  }
});

function upload(chunks: number, token = gateway.token): Promise<Response> {
  const chunk = Buffer.alloc(65_536, 1);
  async function* body() {
    yield Buffer.from(HEAD);
    for (let i = 0; i < chunks; i++) yield chunk;
    yield Buffer.from("\r\n--b--\r\n");
  }
  const headers = { authorization: `Bearer ${token}`, "content-type": TYPE };
  const options = { method: "POST", duplex: "half", body: body(), headers };
  return fetch(`${gateway.url}/v1/audio/transcriptions`, options as unknown as RequestInit);
}

test("files of another user in the temporary directory do not disturb an upload", async () => {
  const tmp = temporaryDir();
  writeFileSync(join(tmp, "portico"), "");
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = tmp;
  try {
    assert.is((await upload(100)).status, 400);
    assert.equal(readdirSync(tmp), ["portico"]);
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  }
});

test("an upload that is refused, too large or left behind keeps no file and no place", async () => {
  assert.is((await upload(100)).status, 400);
  assert.is((await upload(400)).status, 413);
  assert.is((await upload(40, "wrong")).status, 401);

  const { port } = new URL(gateway.url);
  const leaving = request({
    port,
    host: "127.0.0.1",
    method: "POST",
    path: "/v1/audio/transcriptions",
    headers: { authorization: `Bearer ${gateway.token}`, "content-type": TYPE },
  });
  leaving.on("error", () => {});
  leaving.write(HEAD);
  leaving.write(Buffer.alloc(2_000_000));
  await until("the body to be kept", () => unseenFiles() === 1);
  leaving.destroy();
  await until("the file to be gone", () => unseenFiles() === 0);
  const { channels } = await gateway.json("GET", "/channels");
  assert.is(channels.find((channel: { name: string }) => channel.name === "main").inFlight, 0);
});

test.run();
