/** Decompresses request bodies. */
import type { IncomingMessage } from "node:http";
import type { Transform } from "node:stream";
import { promisify } from "node:util";
import zlib from "node:zlib";
import type { PorticoError } from "../../errors.ts";
import { errors } from "../errors.ts";

type Decompress = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const gunzip = promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.gunzip);
const inflate = promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.inflate);
const inflateRaw = promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.inflateRaw);
const brotli = promisify<Buffer, zlib.BrotliOptions, Buffer>(zlib.brotliDecompress);

/** Available since Node 22.15. */
const { zstdDecompress } = zlib as unknown as { zstdDecompress?: typeof zlib.gunzip };

const DECOMPRESSORS: Readonly<Record<string, Decompress>> = {
  gzip: gunzip,
  "x-gzip": gunzip,
  // The standard defines the zlib format; some clients send the bare deflate stream.
  deflate: (bytes, options) =>
    hasZlibHeader(bytes) ? inflate(bytes, options) : inflateRaw(bytes, options),
  br: brotli,
  ...(zstdDecompress && {
    zstd: promisify<Buffer, zlib.ZlibOptions, Buffer>(zstdDecompress),
  }),
};

const SUPPORTED = Object.keys(DECOMPRESSORS)
  .filter((name) => name !== "x-gzip")
  .join(", ");

/** Whether the bytes begin as RFC 1950 demands: the method is 8, and the first two bytes are a multiple of 31. */
function hasZlibHeader(bytes: Buffer): boolean {
  return bytes.length >= 2 && (bytes[0]! & 15) === 8 && bytes.readUInt16BE(0) % 31 === 0;
}

/** The `Content-Encoding` of a request, in lower case; `undefined` if its body is not encoded. */
export function readContentEncoding({ headers }: IncomingMessage): string | undefined {
  const encoding = headers["content-encoding"]?.trim().toLowerCase();
  return encoding === undefined || encoding === "" || encoding === "identity"
    ? undefined
    : encoding;
}

function unsupportedError(encoding: string): PorticoError {
  const values = { encoding: JSON.stringify(encoding.slice(0, 60)), supported: SUPPORTED };
  return errors.unknownEncoding(values, { headers: { "accept-encoding": SUPPORTED } });
}

/** Returns the function that decompresses a coding. Throws `unsupported_media_type` for an unsupported one. */
export function decompressorOf(
  encoding: string,
): (bytes: Buffer, maxBytes: number) => Promise<Buffer> {
  const decompress = Object.hasOwn(DECOMPRESSORS, encoding) ? DECOMPRESSORS[encoding] : undefined;
  if (decompress === undefined) throw unsupportedError(encoding);
  return async (bytes, maxBytes) => {
    try {
      return await decompress(bytes, { maxOutputLength: maxBytes });
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE")
        throw errors.bodyTooLarge({ maxBytes });
      throw errors.wrongEncoding({ encoding }, { cause });
    }
  };
}

const { createZstdDecompress } = zlib as unknown as { createZstdDecompress?: () => Transform };

const STREAMS: Readonly<Record<string, () => Transform>> = {
  gzip: zlib.createGunzip,
  "x-gzip": zlib.createGunzip,
  deflate: zlib.createInflate,
  br: zlib.createBrotliDecompress,
  ...(createZstdDecompress && { zstd: createZstdDecompress }),
};

/**
 * Yields the body as it arrives, decompressed. A consumer that stops early leaves the request open, so that a response
 * can still be sent. Throws as `decompressorOf` does.
 */
export async function* bodyChunks(req: IncomingMessage): AsyncGenerator<Buffer> {
  const encoding = readContentEncoding(req);
  if (encoding === undefined) {
    yield* req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    return;
  }
  const create = Object.hasOwn(STREAMS, encoding) ? STREAMS[encoding] : undefined;
  if (create === undefined) throw unsupportedError(encoding);
  const decoder = create();
  // A complete request closes as well, while the rest of its body is still being decompressed.
  const stop = (): void => {
    if (!req.complete) decoder.destroy();
  };
  req.once("close", stop);
  req.pipe(decoder);
  try {
    yield* decoder as AsyncIterable<Buffer>;
  } catch (cause) {
    const isDisconnected = req.destroyed && !req.complete;
    throw isDisconnected ? cause : errors.wrongEncoding({ encoding }, { cause });
  } finally {
    req.off("close", stop);
    req.unpipe(decoder);
  }
}
