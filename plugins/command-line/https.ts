/** HTTPS requests. They are in a module of their own, which takes time to load, for gateways that use TLS. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { ClientRequestArgs, IncomingMessage } from "node:http";
import { type RequestOptions, request } from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import tls from "node:tls";

const UNTRUSTED =
  "its certificate is not trusted: pass the gateway's --home, or set NODE_EXTRA_CA_CERTS to the file of its certificate authority";

/**
 * Returns a function that opens requests. Besides certificates of known authorities, it trusts the one in the file `cert`,
 * regardless of issuer and age.
 */
export function requestTrusting(cert: string | undefined) {
  const fingerprint = cert === undefined ? undefined : readFingerprint(cert);
  return (url: URL, options: RequestOptions, respond: (res: IncomingMessage) => void) =>
    request(
      url,
      { ...options, agent: undefined, createConnection: connectTrusting(fingerprint) },
      respond,
    );
}

/** Connects, and checks the server's certificate before anything is sent. */
function connectTrusting(fingerprint: string | undefined) {
  return (
    options: ClientRequestArgs,
    done: (error: Error | null, socket: Duplex) => void,
  ): undefined => {
    const { host, port, servername } = options as tls.ConnectionOptions;
    const name = servername ?? (isIP(host ?? "") === 0 ? host : undefined);
    const socket = tls.connect({ host, port, servername: name, rejectUnauthorized: false }, () => {
      const isTrusted =
        socket.authorized || socket.getPeerCertificate().fingerprint256 === fingerprint;
      if (isTrusted) done(null, socket);
      else socket.destroy(new Error(`${UNTRUSTED} (${socket.authorizationError})`));
    });
    socket.once("error", (error) => done(error, socket));
  };
}

/**
 * Returns the fingerprint of the certificate in a file. Throws if the file is unreadable; the gateway then still uses its
 * earlier certificate.
 */
function readFingerprint(file: string): string {
  try {
    return new X509Certificate(readFileSync(file)).fingerprint256;
  } catch (cause) {
    const reason = `${file} (gateway.tls.cert) is not a readable certificate (${(cause as Error).message})`;
    throw new Error(
      `The gateway's certificate cannot be checked: ${reason}. Repair the file, and try again.`,
      {
        cause,
      },
    );
  }
}
