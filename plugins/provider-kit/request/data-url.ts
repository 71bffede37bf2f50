/** Takes a `data:` URL apart (RFC 2397). */

/** What a `data:` URL holds. */
export interface DataUrl {
  /** Lower case, without parameters; `text/plain` where the URL names none. */
  mediaType: string;
  data: Buffer;
}

/** Undefined for anything that is not a well-formed `data:` URL. Base64 may be the URL-safe kind and may lack its padding. */
export function parseDataUrl(url: string): DataUrl | undefined {
  if (url.length < 5 || url.slice(0, 5).toLowerCase() !== "data:") return undefined;
  const comma = url.indexOf(",", 5);
  if (comma === -1) return undefined;
  const parts = url.slice(5, comma).split(";");
  const mediaType = parts[0]!.trim().toLowerCase() || "text/plain";
  const base64 = parts.slice(1).some((part) => part.trim().toLowerCase() === "base64");
  const payload = url.slice(comma + 1);
  if (base64) {
    // White space may stand anywhere, and is taken out first: beside others, a run of it would be tried at every length.
    const clean = (payload.includes("%") ? safeDecode(payload) : payload)?.replace(/\s+/g, "");
    if (clean === undefined || !/^[A-Za-z0-9+/_-]*={0,2}$/.test(clean)) return undefined;
    return { mediaType, data: Buffer.from(clean, "base64") };
  }
  const decoded = safeDecode(payload);
  return decoded === undefined ? undefined : { mediaType, data: Buffer.from(decoded, "utf8") };
}

function safeDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
