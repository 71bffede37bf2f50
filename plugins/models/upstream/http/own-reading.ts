/**
 * Reads sockets without their stream, always into the same memory, from which the received bytes are copied. Node would
 * allocate 64 KB for each read, cut them to size and wrap them in three objects, which costs more than the rest of a
 * read.
 */
import type { OnReadOpts } from "node:net";

const SIZE = 64 * 1024;
/** All sockets share this memory, because each read is copied before the next begins. */
const shared = Buffer.allocUnsafeSlow(SIZE);
/** On Windows, several reads run concurrently. */
const memory = process.platform === "win32" ? () => Buffer.allocUnsafeSlow(SIZE) : () => shared;

/** Creates the `onread` option of a socket. */
export function ownReading(onBytes: (bytes: Buffer) => void): OnReadOpts {
  const buffer = memory();
  return {
    buffer,
    callback(length) {
      const bytes = Buffer.allocUnsafe(length);
      buffer.copy(bytes, 0, 0, length);
      onBytes(bytes);
      return true;
    },
  };
}
