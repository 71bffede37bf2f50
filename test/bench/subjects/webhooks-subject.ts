/**
 * Bare durable servers for `webhooks.bench.ts`. `insert` inserts each request into a table of SQLite and syncs, `commit`
 * does so for all at once that came in while the last commit ran; `append` and `group` are the same with a plain file.
 */
import { fsync, fsyncSync, openSync, writeSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";

const [, , mode, file = "", packageDir = ""] = process.argv;
const require = createRequire(join(packageDir, "package.json"));

/** Stores lines; calls back once they are on the disk. */
type Keep = (lines: readonly string[], kept: () => void) => void;

function inFile(): Keep {
  const descriptor = openSync(file, "a");
  return (lines, kept) => {
    writeSync(descriptor, lines.join(""));
    if (mode === "group") return fsync(descriptor, kept);
    fsyncSync(descriptor);
    kept();
  };
}

function inTable(): Keep {
  const Database = require("libsql");
  const db = new Database(file);
  db.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE lines (number INTEGER PRIMARY KEY, line TEXT)",
  );
  const statement = db.prepare("INSERT INTO lines (line) VALUES (?)");
  // what commits in another thread: the next requests are read meanwhile
  const { exec } = require("libsql/promise").prototype;
  return (lines, kept) => {
    if (mode === "commit") db.exec("BEGIN IMMEDIATE");
    for (const line of lines) statement.run([line]);
    if (mode === "commit") void exec.call(db, "COMMIT").then(kept);
    else kept();
  };
}

const keep = mode === "insert" || mode === "commit" ? inTable() : inFile();
const gathers = mode === "commit" || mode === "group";
let waiting: { line: string; res: ServerResponse }[] = [];
let keeping = false;

function answer(res: ServerResponse): void {
  const text = JSON.stringify({ status: 200, message: "queued", eventId: "evt_0" });
  res.writeHead(200, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
  });
  res.end(text);
}

function flush(): void {
  if (keeping || waiting.length === 0) return;
  keeping = true;
  const batch = waiting;
  waiting = [];
  const lines = batch.map(({ line }) => line);
  keep(lines, () => {
    keeping = false;
    for (const { res } of batch) answer(res);
    flush();
  });
}

const server = createServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on("data", (chunk: Buffer) => chunks.push(chunk));
  req.on("end", () => {
    const line = `${JSON.stringify(JSON.parse(Buffer.concat(chunks).toString()))}\n`;
    if (gathers) {
      waiting.push({ line, res });
      flush();
    } else keep([line], () => answer(res));
  });
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as { port: number }).port));
process.on("disconnect", () => process.exit());
