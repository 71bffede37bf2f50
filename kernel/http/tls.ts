/** Serves the certificate and key from files, and reads these again when they change. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, statSync, unwatchFile, watchFile } from "node:fs";
import type { Server } from "node:https";
import { createSecureContext } from "node:tls";
import type { PorticoError } from "../errors.ts";
import { errors } from "./errors.ts";
import { absolutePath } from "../files/paths.ts";
import type { Logger } from "../contract/index.ts";

export interface TlsFiles {
  /** The path of a PEM file with the server's own certificate, followed by the intermediate ones. */
  readonly cert: string;
  readonly key: string;
}

/** Programs that renew a certificate replace its files in many ways, also through links. Polling notices all of them. */
const POLL_MS = 1000;

/**
 * Sets the server's certificate, and each later version of it that works. Throws `config_error` if the files cannot be
 * used. Returns a function that stops watching them.
 */
export function serveCertificate(server: Server, files: TlsFiles, log: Logger): () => void {
  server.setSecureContext(readFiles(files, log));
  const paths = [files.cert, files.key].map((file) => absolutePath(file));
  const reload = (): void => {
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
  for (const path of paths) watchFile(path, { interval: POLL_MS, persistent: false }, reload);
  return () => {
    for (const path of paths) unwatchFile(path, reload);
  };
}

function readFiles(files: TlsFiles, log: Logger): { cert: Buffer; key: Buffer } {
  const pair = { cert: readPem(files, "cert"), key: readPem(files, "key") };
  try {
    if (pair.key.includes("ENCRYPTED"))
      throw new Error(
        "the private key is encrypted with a passphrase: store the private key without a passphrase",
      );
    createSecureContext(pair);
    const certificate = new X509Certificate(pair.cert);
    // `createSecureContext` accepts a key of another kind (RSA, elliptic), which would then fail in every handshake.
    if (!certificate.checkPrivateKey(createPrivateKey(pair.key)))
      throw new Error("the private key does not belong to the certificate");
    if (Date.parse(certificate.validTo) < Date.now())
      log.warn(`gateway.tls: the certificate has expired (${certificate.validTo})`);
    return pair;
  } catch (cause) {
    throw unusableTls(": the certificate and the private key cannot be used together", cause);
  }
}

function readPem(files: TlsFiles, key: keyof TlsFiles): Buffer {
  const path = absolutePath(files[key]);
  try {
    if (!statSync(path).isFile()) throw new Error("it is not a regular file"); // reading a pipe or a device might never end
    return readFileSync(path);
  } catch (cause) {
    throw unusableTls(`.${key}: ${path} cannot be read`, cause);
  }
}

const unusableTls = (what: string, cause: unknown): PorticoError =>
  errors.unusableTls({ what, reason: (cause as Error).message }, { cause });
