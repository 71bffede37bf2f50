/** The server's certificate and key: files that are read again when they change. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, statSync, unwatchFile, watchFile } from "node:fs";
import type { Server } from "node:https";
import { createSecureContext } from "node:tls";
import type { PorticoError } from "../errors.ts";
import { errors } from "./errors.ts";
import { absolutePath } from "../files/paths.ts";
import type { Logger } from "../contract/index.ts";

export interface TlsFiles {
  /** PEM, with the intermediate certificates below the server's own. */
  readonly cert: string;
  readonly key: string;
}

/** Programs that renew a certificate replace its files in many ways, also through links. Polling notices all of them. */
const LOOK_MS = 1000;

/** Gives the server its certificate, and each later one that works; throws for files that do not. Returns the undo. */
export function serveCertificate(server: Server, files: TlsFiles, log: Logger): () => void {
  server.setSecureContext(readFiles(files, log));
  const paths = [files.cert, files.key].map((file) => absolutePath(file));
  const changed = (): void => {
    try {
      server.setSecureContext(readFiles(files, log));
      log.info({ cert: files.cert }, "the certificate was reloaded");
    } catch (error) {
      log.error(
        { err: error },
        "the changed certificate cannot be used; the previous one stays active",
      );
    }
  };
  for (const path of paths) watchFile(path, { interval: LOOK_MS, persistent: false }, changed);
  return () => {
    for (const path of paths) unwatchFile(path, changed);
  };
}

function readFiles(files: TlsFiles, log: Logger): { cert: Buffer; key: Buffer } {
  const pair = { cert: readOne(files, "cert"), key: readOne(files, "key") };
  try {
    if (pair.key.includes("ENCRYPTED"))
      throw new Error("the key is encrypted with a passphrase: store it without one");
    createSecureContext(pair);
    const own = new X509Certificate(pair.cert);
    // a key of another kind (RSA, elliptic) would only show in the handshakes
    if (!own.checkPrivateKey(createPrivateKey(pair.key)))
      throw new Error("the key does not belong to the certificate");
    if (Date.parse(own.validTo) < Date.now())
      log.warn(`gateway.tls: the certificate has expired (${own.validTo})`);
    return pair;
  } catch (cause) {
    throw unusable(": certificate and key cannot be used together", cause);
  }
}

function readOne(files: TlsFiles, key: keyof TlsFiles): Buffer {
  const path = absolutePath(files[key]);
  try {
    if (!statSync(path).isFile()) throw new Error("it is not a file"); // a pipe or a device is never read to its end
    return readFileSync(path);
  } catch (cause) {
    throw unusable(`.${key}: ${path} cannot be read`, cause);
  }
}

const unusable = (what: string, cause: unknown): PorticoError =>
  errors.unusableTls({ what, reason: (cause as Error).message }, { cause });
