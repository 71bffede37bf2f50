/**
 * A full disk is told as one, and the gateway runs on. Who may not mount a small file system for it becomes root of a
 * namespace of its own first, where this file runs once more.
 */
import { execFileSync } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { toPublicError } from "../../../../plugins/browser/failures.ts";
import { runInNamespace } from "../../../support/machine/in-namespace.ts";
import { type SpawnedGateway, spawnGateway } from "../../../support/gateway.ts";
import { type Site, startSite } from "../support.ts";
import { headlessBrowser } from "../../../support/machine/prepare.ts";

const test = suite("browser: a full disk");
const dir = mkdtempSync(join(tmpdir(), "portico-full-"));
/** What the gateway keeps, and what it hands out: a file system each. */
const home = join(dir, "home");
const files = join(dir, "tmp", "portico");
const mounted: string[] = [];
let site: Site | undefined;
let gateway: SpawnedGateway | undefined;

function mount(path: string, size: string): void {
  mkdirSync(path, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size},mode=0700`, "tmpfs", path], {
    stdio: "ignore",
  });
  mounted.push(path);
}

function mayMount(): boolean {
  try {
    mount(files, "1m");
    mount(home, "96m");
    return true;
  } catch {
    return false;
  }
}

/** Takes all the room there is; the answer gives it back. */
function fill(path: string, name = "filler"): () => void {
  const filler = join(path, name);
  const fd = openSync(filler, "w");
  for (const size of [1 << 16, 1 << 9]) {
    try {
      for (;;) writeSync(fd, Buffer.alloc(size));
    } catch {
      // Not another block of this size.
    }
  }
  closeSync(fd);
  return () => rmSync(filler);
}

async function post(
  path: string,
  body: object = {},
): Promise<{ status: number; code: string | undefined; body: any }> {
  const response = await gateway!.request("POST", path, body, { server: "browser" });
  const parsed = (await response.json()) as any;
  return { status: response.status, code: parsed.error?.code, body: parsed };
}

const isFull = async (path: string, body?: object): Promise<void> => {
  const { status, code, body: responseBody } = await post(path, body);
  assert.equal([path, status, code], [path, 507, "storage_full"], JSON.stringify(responseBody));
  assert.match(responseBody.error.message, "disk");
};
const works = async (path: string, body?: object): Promise<void> => {
  const { status, body: responseBody } = await post(path, body);
  assert.is(status, 200, `${path}: ${JSON.stringify(responseBody)}`);
};

const hasDisks = mayMount();
/** What needs them runs here, or else inside. */
const withDisks = (name: string, run: () => Promise<void>): void => {
  if (hasDisks) test(name, run);
};

test.before(async () => {
  if (!hasDisks) return;
  site = await startSite({
    "/": `<title>Files</title><a href="/file" download>Get</a>`,
    "/file": (_req, res) =>
      res
        .writeHead(200, { "content-type": "application/octet-stream", "content-length": 3_000_000 })
        .end(Buffer.alloc(3_000_000)),
  });
  gateway = await spawnGateway({
    home,
    config: { browser: headlessBrowser },
    env: { TMPDIR: join(dir, "tmp") },
  });
  await works("/navigate", { url: site!.url });
});
test.after(async () => {
  await gateway?.stop();
  await site?.stop();
  for (const path of mounted) execFileSync("umount", ["-l", path]);
  rmSync(dir, { recursive: true, force: true });
});

async function refOfDownload(): Promise<string> {
  const response = await gateway!.request("GET", "/snapshot", undefined, { server: "browser" });
  const { refs } = (await response.json()) as { refs: Record<string, { role: string }> };
  return Object.keys(refs).find((key) => refs[key]?.role === "link")!;
}

withDisks(
  "where files are handed out: each that cannot be written is told, none is left half done",
  async () => {
    const ref = await refOfDownload();
    const release = fill(files);
    await isFull("/screenshot");
    await isFull("/pdf");
    await isFull("/download", { ref });
    await works("/trace/start");
    await isFull("/trace/stop");
    for (const name of ["screenshots", "pdf", "downloads"])
      assert.equal(readdirSync(join(files, name)), [], name);
    release();
    await works("/screenshot");
    await works("/pdf");
  },
);

withDisks(
  "where the browser keeps its own: a download is told, pages go on, a new start says why",
  async () => {
    const ref = await refOfDownload();
    const release = fill(home);
    await isFull("/download", { ref });
    await works("/navigate", { url: site!.url });
    await works("/screenshot");
    await isFull("/profiles/create", { name: "work" });
    await works("/stop");
    // The browser gives some of its own back when it ends.
    const releaseRest = fill(home, "rest");
    await isFull("/start");
    release();
    releaseRest();
    await works("/profiles/create", { name: "work" });
    await works("/navigate", { url: site!.url });
    assert.is(gateway!.child.exitCode, null);
  },
);

if (!hasDisks) {
  test("every operation reports a full file system", () =>
    runInNamespace(import.meta.filename, { kinds: "m", needs: "no tmpfs can be mounted" }));
}

test("every system error for a full disk is recognized", () => {
  for (const error of [
    Object.assign(new Error("write"), { code: "ENOSPC" }),
    Object.assign(new Error("write"), { code: "EDQUOT" }),
    new Error("page.pdf: ENOSPC: no space left on device, write"),
  ]) {
    const { status, code } = toPublicError(error, "The PDF");
    assert.equal([status, code], [507, "storage_full"]);
  }
});

test.run();
