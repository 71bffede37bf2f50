/** Stores a request's body outside of memory while it is forwarded. */
import { randomUUID } from "node:crypto";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Call, PorticoError } from "portico";
import type { BodySource } from "portico/provider";
import { errors } from "./errors.ts";

/** The bytes that are written and read at a time. A body that is no larger needs no file. */
const CHUNK = 256 * 1024;
/** The longest time that a client may send nothing. */
const IDLE_MS = 60_000;

/** A range of the body, and the text that replaces it. */
interface Replacement {
  start: number;
  end: number;
  value: string;
}

export interface Spool {
  /** Returns the body with the ranges replaced. It can be read again for another attempt. */
  source(replacements: readonly Replacement[]): BodySource;
  close(): Promise<void>;
}

/** Reads the body to its end. Throws 413 beyond the limit, 408 if the client stops sending. */
export async function receiveBody(
  call: Call,
  maxBytes: number,
  onBytes: (bytes: Buffer) => void,
): Promise<Spool> {
  const { req } = call;
  if (Number(req.headers["content-length"]) > maxBytes) throw errors.bodyTooLarge({ maxBytes });
  let isTimedOut = false;
  const timer = setTimeout(() => {
    isTimedOut = true;
    req.destroy();
  }, IDLE_MS);
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK, Number(req.headers["content-length"]) || CHUNK));
  let used = 0;
  let file: FileHandle | undefined;
  let size = 0;
  const append = async (bytes: Buffer) => {
    for (let from = 0; from < bytes.length; ) {
      if (used === chunk.length) {
        file ??= await openUnlinked();
        await writeAll(file, chunk);
        used = 0;
      }
      const count = bytes.copy(chunk, used, from);
      used += count;
      from += count;
    }
  };
  try {
    // A client whose body is refused before its end still gets the response.
    for await (const bytes of call.chunks()) {
      timer.refresh();
      size += bytes.length;
      if (size > maxBytes) throw errors.bodyTooLarge({ maxBytes });
      onBytes(bytes);
      await append(bytes);
    }
    if (file !== undefined) await writeAll(file, chunk.subarray(0, used));
    if (!req.complete) throw errors.clientClosed();
  } catch (error) {
    await file?.close();
    if (isTimedOut) throw errors.bodyTooSlow();
    throw req.complete || error instanceof PorticoError ? error : errors.clientClosed();
  } finally {
    clearTimeout(timer);
  }
  return file === undefined ? spoolInMemory(chunk.subarray(0, used)) : spoolOnDisk(file, size);
}

/**
 * Opens a file and unlinks it, so that nothing remains even if this process is killed. It is directly in the temporary
 * directory, since another user could have created a directory of a known name first.
 */
async function openUnlinked(): Promise<FileHandle> {
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

function spoolInMemory(body: Buffer): Spool {
  return {
    source: (replacements) =>
      sourceOf(body.length, replacements, async function* (start, end) {
        yield body.subarray(start, end);
      }),
    close: async () => {},
  };
}

function spoolOnDisk(file: FileHandle, size: number): Spool {
  return {
    source: (replacements) =>
      sourceOf(size, replacements, async function* (start, end) {
        const bytes = Buffer.allocUnsafe(Math.min(CHUNK, end - start));
        for (let at = start; at < end; ) {
          const { bytesRead } = await file.read(bytes, 0, Math.min(CHUNK, end - at), at);
          if (bytesRead === 0) throw new Error("the stored request body is shorter than expected");
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
