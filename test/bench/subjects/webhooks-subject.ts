/**
 * Bare durable servers for `webhooks.bench.ts`. `insert` inserts each request into a SQLite table and syncs it. `commit`
 * commits all requests together that arrived during the previous commit. `append` and `group` do the same with a plain file.
 */
import { fsync, fsyncSync, openSync, writeSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";

const [, , mode, file = "", packageDir = ""] = process.argv;
const require = createRequire(join(packageDir, "package.json"));

/** Stores lines, and calls back when they are on disk. */
type StoreLines = (lines: readonly string[], kept: () => void) => void;

function createFileStore(): StoreLines {
  const descriptor = openSync(file, "a");
  return (lines, kept) => {
    writeSync(descriptor, lines.join(""));
    if (mode === "group") return fsync(descriptor, kept);
    fsyncSync(descriptor);
    kept();
  };
}

function createTableStore(): StoreLines {
  const Database = require("libsql");
  const db = new Database(file);
  db.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE lines (number INTEGER PRIMARY KEY, line TEXT)",
  );
  const statement = db.prepare("INSERT INTO lines (line) VALUES (?)");
  // commits in another thread, so that the next requests are read meanwhile
  const { exec } = require("libsql/promise").prototype;
  return (lines, kept) => {
    if (mode === "commit") db.exec("BEGIN IMMEDIATE");
    for (const line of lines) statement.run([line]);
    if (mode === "commit") void exec.call(db, "COMMIT").then(kept);
    else kept();
  };
}

const storeLines = mode === "insert" || mode === "commit" ? createTableStore() : createFileStore();
const isGrouped = mode === "commit" || mode === "group";
let waiting: { line: string; res: ServerResponse }[] = [];
let isStoring = false;

function answer(res: ServerResponse): void {
  const text = JSON.stringify({ status: 200, message: "queued", eventId: "evt_0" });
  res.writeHead(200, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
  });
  res.end(text);
}

function flush(): void {
  if (isStoring || waiting.length === 0) return;
  isStoring = true;
  const batch = waiting;
  waiting = [];
  const lines = batch.map(({ line }) => line);
  storeLines(lines, () => {
    isStoring = false;
    for (const { res } of batch) answer(res);
    flush();
  });
}

const server = createServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on("data", (chunk: Buffer) => chunks.push(chunk));
  req.on("end", () => {
    const line = `${JSON.stringify(JSON.parse(Buffer.concat(chunks).toString()))}\n`;
    if (isGrouped) {
      waiting.push({ line, res });
      flush();
    } else storeLines([line], () => answer(res));
  });
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as { port: number }).port));
process.on("disconnect", () => process.exit());
