/** A request's body, kept out of memory while it is passed on. */
import { randomUUID } from "node:crypto";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Call, PorticoError } from "portico";
import type { BodySource } from "portico/provider";
import { errors } from "./errors.ts";

/** What is written and read at a time; a body that is no larger needs no file. */
const CHUNK = 256 * 1024;
/** A client must send something this often. */
const IDLE_MS = 60_000;

/** Bytes of the body that others take the place of. */
interface Replacement {
  start: number;
  end: number;
  value: string;
}

export interface Spool {
  source(replacements: readonly Replacement[]): BodySource;
  close(): Promise<void>;
}

/** Reads the body to its end. Throws 413 beyond the limit, 408 for a client that falls silent. */
export async function receive(
  call: Call,
  maxBytes: number,
  onBytes: (bytes: Buffer) => void,
): Promise<Spool> {
  const { req } = call;
  if (Number(req.headers["content-length"]) > maxBytes) throw errors.bodyTooLarge({ maxBytes });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    req.destroy();
  }, IDLE_MS);
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK, Number(req.headers["content-length"]) || CHUNK));
  let held = 0;
  let file: FileHandle | undefined;
  let size = 0;
  const keep = async (bytes: Buffer) => {
    for (let from = 0; from < bytes.length; ) {
      if (held === chunk.length) {
        file ??= await openUnseen();
        await writeAll(file, chunk);
        held = 0;
      }
      const taken = bytes.copy(chunk, held, from);
      held += taken;
      from += taken;
    }
  };
  try {
    // Anyone who is refused on the way still gets the response.
    for await (const bytes of call.chunks()) {
      timer.refresh();
      size += bytes.length;
      if (size > maxBytes) throw errors.bodyTooLarge({ maxBytes });
      onBytes(bytes);
      await keep(bytes);
    }
    if (file !== undefined) await writeAll(file, chunk.subarray(0, held));
    if (!req.complete) throw errors.clientClosed();
  } catch (error) {
    await file?.close();
    if (late) throw errors.bodyTooSlow();
    throw req.complete || error instanceof PorticoError ? error : errors.clientClosed();
  } finally {
    clearTimeout(timer);
  }
  return file === undefined ? inMemory(chunk.subarray(0, held)) : onDisk(file, size);
}

/**
 * A file without a name: whatever happens to this process, nothing of it stays. In no directory of ours, whose name
 * another user may have taken first.
 */
async function openUnseen(): Promise<FileHandle> {
  const path = join(tmpdir(), `portico-request-${randomUUID()}`);
  try {
    const file = await open(path, "wx+", 0o600);
    await unlink(path);
    return file;
  } catch (error) {
    throw errors.bodyNotStored({ cause: error });
  }
}

async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  try {
    for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
  } catch (error) {
    throw errors.bodyNotStored({ cause: error });
  }
}

function inMemory(body: Buffer): Spool {
  return {
    source: (replacements) =>
      sourceOf(body.length, replacements, async function* (start, end) {
        yield body.subarray(start, end);
      }),
    close: async () => {},
  };
}

function onDisk(file: FileHandle, size: number): Spool {
  return {
    source: (replacements) =>
      sourceOf(size, replacements, async function* (start, end) {
        const bytes = Buffer.allocUnsafe(Math.min(CHUNK, end - start));
        for (let at = start; at < end; ) {
          const { bytesRead } = await file.read(bytes, 0, Math.min(CHUNK, end - at), at);
          if (bytesRead === 0) throw new Error("the stored body is shorter than expected");
          at += bytesRead;
          yield bytes.subarray(0, bytesRead);
        }
      }),
    close: () => file.close(),
  };
}

function sourceOf(
  size: number,
  replacements: readonly Replacement[],
  read: (start: number, end: number) => AsyncIterable<Buffer>,
): BodySource {
  const ordered = [...replacements].sort((a, b) => a.start - b.start);
  const length = ordered.reduce(
    (sum, { start, end, value }) => sum - (end - start) + Buffer.byteLength(value),
    size,
  );
  return {
    length,
    async *open() {
      let at = 0;
      for (const { start, end, value } of ordered) {
        yield* read(at, start);
        yield Buffer.from(value);
        at = end;
      }
      yield* read(at, size);
    },
  };
}
