/** HTTPS takes time to load: it is only where the gateway speaks it. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { ClientRequestArgs, IncomingMessage } from "node:http";
import { type RequestOptions, request } from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import tls from "node:tls";

const UNTRUSTED =
  "its certificate is not trusted: pass the gateway's --home, or set NODE_EXTRA_CA_CERTS to the file of its authority";

/** Opens requests. With `cert` (a file), exactly that certificate is trusted, regardless of its issuer and age. */
export function requestTrusting(cert: string | undefined) {
  const own = cert === undefined ? undefined : read(cert);
  return (url: URL, options: RequestOptions, respond: (res: IncomingMessage) => void) =>
    request(url, { ...options, agent: undefined, createConnection: connectTrusting(own) }, respond);
}

/** Sends nothing before the certificate of the other side is checked. */
function connectTrusting(own: string | undefined) {
  return (
    options: ClientRequestArgs,
    done: (error: Error | null, socket: Duplex) => void,
  ): undefined => {
    const { host, port, servername } = options as tls.ConnectionOptions;
    const name = servername ?? (isIP(host ?? "") === 0 ? host : undefined);
    const socket = tls.connect({ host, port, servername: name, rejectUnauthorized: false }, () => {
      const isTrusted = socket.authorized || socket.getPeerCertificate().fingerprint256 === own;
      if (isTrusted) done(null, socket);
      else socket.destroy(new Error(`${UNTRUSTED} (${socket.authorizationError})`));
    });
    socket.once("error", (error) => done(error, socket));
  };
}

/** The gateway goes on with the certificate that it has while the file is broken; nobody can know it by that file. */
function read(file: string): string {
  try {
    return new X509Certificate(readFileSync(file)).fingerprint256;
  } catch (cause) {
    const why = `${file} (gateway.tls.cert) is not a readable certificate (${(cause as Error).message})`;
    throw new Error(
      `The gateway's certificate cannot be checked: ${why}. Repair the file, and try again.`,
      {
        cause,
      },
    );
  }
}
