/** HTTPS takes time to load: it is only where the gateway speaks it. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { type RequestOptions, request } from "node:https";
import tls from "node:tls";

/** Opens requests. With `cert`, a file, that very certificate is trusted beside the usual authorities. */
export function requestTrusting(cert: string | undefined) {
  const trust = trustOf(cert);
  return (url: URL, options: RequestOptions, respond: (res: IncomingMessage) => void) =>
    request(url, { ...options, ...trust }, respond);
}

/** What TLS is to believe: the usual authorities, and one certificate that lies on this machine. */
function trustOf(file: string | undefined): RequestOptions {
  if (file === undefined) return {};
  const { text, own } = read(file);
  return {
    ca: [...tls.rootCertificates, text],
    checkServerIdentity: (host, peer) =>
      peer.fingerprint256 === own ? undefined : tls.checkServerIdentity(host, peer),
  };
}

/** The gateway goes on with the certificate that it has while the file is broken; nobody can know it by that file. */
function read(file: string): { text: string; own: string } {
  try {
    const cert = readFileSync(file);
    return { text: cert.toString(), own: new X509Certificate(cert).fingerprint256 };
  } catch (cause) {
    const why = `${file} (gateway.tls.cert) is no certificate that can be read (${(cause as Error).message})`;
    throw new Error(`The gateway cannot be recognised: ${why}. Mend the file, and try again.`, { cause });
  }
}
