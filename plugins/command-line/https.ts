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
  const cert = readFileSync(file);
  const own = new X509Certificate(cert).fingerprint256;
  return {
    ca: [...tls.rootCertificates, cert.toString()],
    checkServerIdentity: (host, peer) =>
      peer.fingerprint256 === own ? undefined : tls.checkServerIdentity(host, peer),
  };
}
