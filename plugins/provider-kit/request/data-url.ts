/** Parses `data:` URLs (RFC 2397). */

/** The content of a `data:` URL. */
export interface DataUrl {
  /** Lower case, without parameters; `text/plain` if the URL names none. */
  mediaType: string;
  data: Buffer;
}

/** Returns undefined for anything but a well-formed `data:` URL. Base64 may be URL-safe, and its padding may be missing. */
export function parseDataUrl(url: string): DataUrl | undefined {
  if (url.length < 5 || url.slice(0, 5).toLowerCase() !== "data:") return undefined;
  const comma = url.indexOf(",", 5);
  if (comma === -1) return undefined;
  const parts = url.slice(5, comma).split(";");
  const mediaType = parts[0]!.trim().toLowerCase() || "text/plain";
  const isBase64 = parts.slice(1).some((part) => part.trim().toLowerCase() === "base64");
  const payload = url.slice(comma + 1);
  if (isBase64) {
    // White space may occur anywhere. It is removed first, because a pattern that allowed for it would backtrack.
    const base64 = (payload.includes("%") ? decodePercent(payload) : payload)?.replace(/\s+/g, "");
    if (base64 === undefined || !/^[A-Za-z0-9+/_-]*={0,2}$/.test(base64)) return undefined;
    return { mediaType, data: Buffer.from(base64, "base64") };
  }
  const decoded = decodePercent(payload);
  return decoded === undefined ? undefined : { mediaType, data: Buffer.from(decoded, "utf8") };
}

function decodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
