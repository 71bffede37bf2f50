/** The server's certificate and key: files that are read again when they change. */
import { readFileSync, unwatchFile, watchFile } from "node:fs";
import type { Server } from "node:https";
import { createSecureContext } from "node:tls";
import { PorticoError } from "../errors.ts";
import { absolutePath } from "../files/paths.ts";
import type { Logger } from "../types.ts";

export interface TlsFiles {
  /** PEM, with the intermediate certificates below the server's own. */
  readonly cert: string;
  readonly key: string;
}

/** Whoever renews a certificate may replace its files in any way, links among them: so they are looked at, not listened to. */
const LOOK_MS = 1000;

/**
 * Gives the server its certificate, and each later one that works. Returns the undo. Throws `config_error` for files that
 * cannot be read or do not belong together.
 */
export function serveCertificate(server: Server, files: TlsFiles, log: Logger): () => void {
  server.setSecureContext(readFiles(files));
  const paths = [files.cert, files.key].map((file) => absolutePath(file));
  const changed = (): void => {
    try {
      server.setSecureContext(readFiles(files));
      log.info({ cert: files.cert }, "the certificate was read again");
    } catch (error) {
      log.error({ err: error }, "the changed certificate cannot be used; the one before it goes on");
    }
  };
  for (const path of paths) watchFile(path, { interval: LOOK_MS, persistent: false }, changed);
  return () => {
    for (const path of paths) unwatchFile(path, changed);
  };
}

function readFiles({ cert, key }: TlsFiles): { cert: Buffer; key: Buffer } {
  const pair = { cert: readOne(cert, "cert"), key: readOne(key, "key") };
  try {
    createSecureContext(pair);
  } catch (cause) {
    const why = (cause as Error).message;
    throw new PorticoError("config_error", `gateway.tls: certificate and key cannot be used together (${why}).`, {
      cause,
    });
  }
  return pair;
}

function readOne(file: string, key: keyof TlsFiles): Buffer {
  try {
    return readFileSync(absolutePath(file));
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code ?? (cause as Error).message;
    throw new PorticoError("config_error", `gateway.tls.${key}: ${file} cannot be read (${why}).`, { cause });
  }
}
