import { once } from "node:events";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { PATIENCE_MS, until } from "../../../support/until.ts";
import {
  type Answer,
  type SharedBrowser,
  failed,
  type Site,
  sharedBrowser,
  startSite,
} from "../support.ts";

const test = suite("browser: files");
let browser: SharedBrowser;
let site: Site;
const root = join(tmpdir(), "portico");
const uploads = join(root, "uploads", `test-${process.pid}`);
const made: string[] = [];
let bigCut: Promise<unknown>;

test.before(async () => {
  const attachment = (name: string) => ({
    "content-type": "application/octet-stream",
    "content-disposition": `attachment; filename="${name}"`,
  });
  site = await startSite({
    "/": `<title>Files</title><a href="/file">Get</a><a href="/evil">Evil</a><a href="/big">Big</a><a href="/cut">Cut</a><a href="/slow">Slow</a><button>No file</button>
      <input type="file" id="one" aria-label="One file" onchange="show(this)"><input type="file" multiple id="many" aria-label="Many files" onchange="show(this)">
      <button onclick="one.click()">Choose</button><pre id="out"></pre><div style="height:2000px;background:linear-gradient(red,blue)"></div>
      <script>async function show(i){out.textContent=(await Promise.all([...i.files].map(async f=>f.name+'='+await f.text()))).join(',')}</script>`,
    "/file": (_req, res) => res.writeHead(200, attachment("report.csv")).end("a,b\n1,2\n"),
    "/evil": (_req, res) => res.writeHead(200, attachment("../../../evil.sh")).end("evil"),
    "/cut": (_req, res) => {
      res.writeHead(200, { ...attachment("cut.bin"), "content-length": "1000" });
      res.write("half", () => setTimeout(() => res.destroy(), 100));
    },
    "/slow": (_req, res) =>
      res.writeHead(200, { ...attachment("slow.bin"), "content-length": "1000" }).write("x"),
    // More than may come, and no end.
    "/big": (_req, res) => {
      bigCut = once(res, "close");
      res.writeHead(200, attachment("big.bin")).write(Buffer.alloc(32 << 20));
    },
  });
  mkdirSync(uploads, { recursive: true });
  writeFileSync(join(uploads, "a.txt"), "alpha");
  writeFileSync(join(uploads, "b.txt"), "beta");
  browser = await sharedBrowser();
  await browser.visit(site.url);
});
test.after(async () => {
  await browser.stop();
  await site.stop();
  rmSync(uploads, { recursive: true });
  for (const path of made) rmSync(path, { force: true });
});

const saved = (
  response: Answer,
): { path: string; bytes: number; suggestedFilename: string; url: string } => {
  assert.is(response.status, 200, JSON.stringify(response.body));
  made.push(response.body.download.path);
  return response.body.download;
};
const bytes = async (
  path: string,
  accept: string,
  body: unknown = {},
): Promise<{ type: string | null; content: Buffer }> => {
  const response = await browser.gateway.request("POST", path, body, {
    server: "browser",
    headers: { accept },
  });
  return {
    type: response.headers.get("content-type"),
    content: Buffer.from(await response.arrayBuffer()),
  };
};

test("download: clicked, saved under its own or a given name", async () => {
  const own = saved(await browser.post("/download", { ref: await browser.ref("Get") }));
  assert.equal([own.suggestedFilename, own.bytes, own.url], ["report.csv", 8, `${site.url}/file`]);
  assert.ok(own.path.startsWith(join(root, "downloads") + "/"));
  assert.is(readFileSync(own.path, "utf8"), "a,b\n1,2\n");
  assert.is(lstatSync(own.path).mode & 0o077, 0);
  const named = saved(
    await browser.post("/download", {
      ref: await browser.ref("Get"),
      path: `t${process.pid}/x.csv`,
    }),
  );
  assert.is(named.path, join(root, "downloads", `t${process.pid}`, "x.csv"));
  const evil = saved(await browser.post("/download", { ref: await browser.ref("Evil") }));
  assert.is(dirname(evil.path), join(root, "downloads"));
  assert.not.match(evil.suggestedFilename, "/");
  rmSync(dirname(named.path), { recursive: true });
});

test("wait/download returns the next download, or one that has just arrived", async () => {
  const ref = await browser.ref("Get");
  const waiting = browser.post("/wait/download", { path: `w${process.pid}.csv` });
  assert.is((await browser.act("click", { ref })).status, 200);
  assert.is(saved(await waiting).bytes, 8);
  assert.is((await browser.act("click", { ref })).status, 200);
  assert.is(saved(await browser.post("/wait/download")).suggestedFilename, "report.csv");
  failed(await browser.post("/wait/download", { timeoutMs: 150 }), 504, "timeout");
});

test("paths outside, through links, or no paths at all are refused before anything is clicked", async () => {
  const ref = await browser.ref("Get");
  const link = join(root, "downloads", `link${process.pid}`);
  symlinkSync(tmpdir(), link);
  const before = site.hits.length;
  for (const path of [
    "../x",
    "/etc/x",
    "a/../../x",
    "",
    "x\u0000y",
    `link${process.pid}/x`,
    `link${process.pid}`,
    join(tmpdir(), "x"),
    "..",
    ".",
  ]) {
    failed(await browser.post("/download", { ref, path }), 400, "invalid_request_error");
    failed(
      await browser.post("/wait/download", { path, timeoutMs: 200 }),
      400,
      "invalid_request_error",
    );
  }
  assert.is(site.hits.length, before);
  rmSync(link);
});

test("errors report a download that is too large, truncated, too slow or missing", async () => {
  failed(
    await browser.post("/download", { ref: await browser.ref("Big") }),
    422,
    "action_failed",
    "maxDownloadBytes",
  );
  await bigCut;
  failed(
    await browser.post("/download", { ref: await browser.ref("Cut") }),
    422,
    "action_failed",
    "failed",
  );
  failed(
    await browser.post("/download", { ref: await browser.ref("Slow"), timeoutMs: 700 }),
    504,
    "timeout",
  );
  failed(
    await browser.post("/download", { ref: await browser.ref("No file"), timeoutMs: 400 }),
    504,
    "timeout",
  );
  failed(await browser.post("/download", {}), 400, "invalid_request_error");
});

/** An armed chooser is answered after the click that opens it. */
async function shows(text: string): Promise<void> {
  await browser.act("wait", {
    fn: `out.textContent === ${JSON.stringify(text)}`,
    timeoutMs: PATIENCE_MS,
  });
  assert.is((await browser.act("evaluate", { fn: "out.textContent" })).body.result, text);
}

test("upload: into the input, through what opens the chooser, or armed beforehand", async () => {
  const name = (file: string): string => `test-${process.pid}/${file}`;
  assert.is(
    (await browser.act("upload", { ref: await browser.ref("One file"), paths: [name("a.txt")] }))
      .status,
    200,
  );
  await shows("a.txt=alpha");
  assert.is(
    (
      await browser.act("upload", {
        ref: await browser.ref("Many files"),
        paths: [name("a.txt"), join(uploads, "b.txt")],
      })
    ).status,
    200,
  );
  await shows("a.txt=alpha,b.txt=beta");
  assert.is(
    (await browser.act("upload", { ref: await browser.ref("Choose"), paths: [name("b.txt")] }))
      .status,
    200,
  );
  await shows("b.txt=beta");
  assert.equal(
    (await browser.post("/hooks/file-chooser", { paths: [name("a.txt")] })).body.ok,
    true,
  );
  await browser.act("click", { ref: await browser.ref("Choose") });
  await shows("a.txt=alpha");
  // What a click opened has its files when the click is answered: the next action of a batch sees them.
  await browser.post("/hooks/file-chooser", { paths: [name("b.txt")] });
  const batch = await browser.act("batch", {
    actions: [
      { kind: "evaluate", fn: "one.value = ''" },
      { kind: "click", ref: await browser.ref("Choose") },
      { kind: "evaluate", fn: "one.files[0]?.name" },
    ],
  });
  assert.is(batch.body.result[2].result, "b.txt");
  assert.is(
    (await browser.post("/hooks/file-chooser", { paths: [name("a.txt"), name("b.txt")] })).status,
    200,
  );
  await browser.act("click", { ref: await browser.ref("Choose") });
  const [failedUpload] = await until("the failed upload among the page's errors", async () => {
    const { errors } = (await browser.get("/errors", { clear: "true" })).body;
    return errors.length > 0 ? errors : undefined;
  });
  assert.match(failedUpload.message, "accepts only one file");
  assert.equal(
    (
      await browser.post("/hooks/file-chooser", {
        paths: [name("b.txt")],
        ref: await browser.ref("One file"),
      })
    ).body.ok,
    true,
  );
  await shows("b.txt=beta");
  failed(
    await browser.act("upload", {
      ref: await browser.ref("No file"),
      paths: [name("a.txt")],
      timeoutMs: PATIENCE_MS,
    }),
    422,
    "action_failed",
  );
});

test("only plain files of the upload directory are uploaded", async () => {
  const ref = await browser.ref("One file");
  symlinkSync("/etc/hostname", join(uploads, "link"));
  for (const path of [
    "/etc/hostname",
    "../../etc/hostname",
    `test-${process.pid}/link`,
    `test-${process.pid}/none`,
    `test-${process.pid}`,
    "",
  ]) {
    failed(await browser.act("upload", { ref, paths: [path] }), 400, "invalid_request_error");
    failed(
      await browser.post("/hooks/file-chooser", { paths: [path] }),
      400,
      "invalid_request_error",
    );
  }
  failed(await browser.act("upload", { ref, paths: [] }), 400, "invalid_request_error");
});

test("screenshots: viewport, page, element; as a path or as bytes", async () => {
  const png = (await browser.post("/screenshot")).body;
  made.push(png.path);
  assert.equal([png.ok, png.type, png.width], [true, "png", 1280]);
  assert.is(readFileSync(png.path).readUInt32BE(0), 0x89504e47);
  const full = (await browser.post("/screenshot", { fullPage: true })).body;
  assert.ok(full.height > 2000 && full.height > png.height);
  const element = (
    await browser.post("/screenshot", {
      ref: await browser.ref("No file"),
      type: "jpeg",
      quality: 50,
    })
  ).body;
  assert.equal([element.type, element.width < 200, element.height < 60], ["jpeg", true, true]);
  made.push(full.path, element.path);
  const raw = await bytes("/screenshot", "image/*");
  assert.equal([raw.type, raw.content.readUInt32BE(0)], ["image/png", 0x89504e47]);
  const jpeg = await bytes("/screenshot", "image/jpeg");
  assert.equal([jpeg.type, jpeg.content.readUInt16BE(0)], ["image/jpeg", 0xffd8]);
  for (const body of [
    { type: "gif" },
    { quality: 50 },
    { type: "jpeg", quality: 101 },
    { fullPage: true, ref: 1 },
    { ref: "#x" },
  ])
    failed(await browser.post("/screenshot", body), 400, "invalid_request_error");
});

test("pdf: as a path or as bytes", async () => {
  const { body } = await browser.post("/pdf", { format: "Letter", landscape: true });
  made.push(body.path);
  assert.equal([body.ok, readFileSync(body.path).subarray(0, 5).toString()], [true, "%PDF-"]);
  const raw = await bytes("/pdf", "application/pdf");
  assert.equal([raw.type, raw.content.subarray(0, 5).toString()], ["application/pdf", "%PDF-"]);
  failed(await browser.post("/pdf", { format: "Napkin" }), 400, "invalid_request_error");
});

test("trace: one at a time, into the temporary root", async () => {
  failed(await browser.post("/trace/stop"), 409, "trace_not_running");
  assert.equal(
    (await browser.post("/trace/start", { screenshots: true, snapshots: true, sources: false }))
      .body,
    {
      ok: true,
    },
  );
  failed(await browser.post("/trace/start"), 409, "trace_running");
  await browser.visit(site.url);
  failed(await browser.post("/trace/stop", { path: "../trace.zip" }), 400, "invalid_request_error");
  const { body } = await browser.post("/trace/stop", { path: `trace-${process.pid}.zip` });
  made.push(body.path);
  assert.is(body.path, join(root, `trace-${process.pid}.zip`));
  assert.is(readFileSync(body.path).readUInt16BE(0), 0x504b);
  assert.is((await browser.post("/trace/start")).status, 200);
  const second = (await browser.post("/trace/stop")).body;
  made.push(second.path);
  assert.ok(existsSync(second.path));
});

test("highlight", async () => {
  assert.is(
    (await browser.post("/highlight", { ref: await browser.ref("No file") })).body.ok,
    true,
  );
  failed(await browser.post("/highlight", {}), 400, "invalid_request_error");
});

test.run();
