/**
 * Bare durable servers for `webhooks.bench.ts`: `each` syncs the file for every request, `group` once for all requests
 * that came in while the last sync ran; `insert` inserts each into a table of SQLite.
 */
import { fsync, fsyncSync, openSync, writeSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";

const [, , mode, file = "", packageDir = ""] = process.argv;
const descriptor = openSync(file, "a");
const insert = mode === "insert" ? inserts() : undefined;
let waiting: { line: string; res: ServerResponse }[] = [];
let syncing = false;

function answer(res: ServerResponse): void {
  const text = JSON.stringify({ status: 200, message: "queued", eventId: "evt_0" });
  res.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  res.end(text);
}

function inserts(): (line: string) => void {
  const Database = createRequire(join(packageDir, "package.json"))("libsql");
  const db = new Database(`${file}.db`);
  db.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE lines (number INTEGER PRIMARY KEY, line TEXT)",
  );
  const statement = db.prepare("INSERT INTO lines (line) VALUES (?)");
  return (line) => statement.run([line]);
}

function flush(): void {
  if (syncing || waiting.length === 0) return;
  syncing = true;
  const batch = waiting;
  waiting = [];
  writeSync(descriptor, batch.map(({ line }) => line).join(""));
  fsync(descriptor, () => {
    syncing = false;
    for (const { res } of batch) answer(res);
    flush();
  });
}

const server = createServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on("data", (chunk: Buffer) => chunks.push(chunk));
  req.on("end", () => {
    const line = `${JSON.stringify(JSON.parse(Buffer.concat(chunks).toString()))}\n`;
    if (mode === "group") {
      waiting.push({ line, res });
      flush();
    } else if (insert) {
      insert(line);
      answer(res);
    } else {
      writeSync(descriptor, line);
      fsyncSync(descriptor);
      answer(res);
    }
  });
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as { port: number }).port));
process.on("disconnect", () => process.exit());
