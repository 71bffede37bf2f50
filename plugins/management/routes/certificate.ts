/** Notices about the certificate that the gateway serves, which may differ from the one in its files. */
import { once } from "node:events";

const DAY_MS = 24 * 60 * 60 * 1000;
const SOON_DAYS = 14;
const HANDSHAKE_MS = 5_000;

export async function certificateNotices(url: string): Promise<string[]> {
  if (!url.startsWith("https:")) return [];
  const validTo = await fetchExpiry(new URL(url));
  const days = (Date.parse(validTo) - Date.now()) / DAY_MS;
  if (days > SOON_DAYS) return [];
  const state = days < 0 ? "has expired" : `expires in ${Math.floor(days)} d`;
  return [
    `gateway.tls: the certificate ${state} (${validTo}): replace the file with a renewed certificate; the gateway reloads the file at once.`,
  ];
}

async function fetchExpiry({ hostname, port }: URL): Promise<string> {
  const host = hostname.replace(/^\[|\]$/g, "");
  const { connect } = await import("node:tls");
  const socket = connect({ host, port: Number(port) || 443, rejectUnauthorized: false });
  socket.setTimeout(HANDSHAKE_MS, () =>
    socket.destroy(new Error("the gateway's HTTPS server does not respond")),
  );
  try {
    await once(socket, "secureConnect");
    return socket.getPeerCertificate().valid_to;
  } finally {
    socket.destroy();
  }
}
