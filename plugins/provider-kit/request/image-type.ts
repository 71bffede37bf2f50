/** Detects the media type of an image from its bytes, because clients derive it from the file name or guess. */

/** Returns the type that the first bytes show; undefined for anything but PNG, JPEG, GIF and WebP. */
export function imageType(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(12, bytes.length));
  const text = head.toString("latin1");
  if (text.startsWith("\x89PNG")) return "image/png";
  if (text.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (text.startsWith("GIF8")) return "image/gif";
  if (text.startsWith("RIFF") && text.slice(8) === "WEBP") return "image/webp";
  return undefined;
}
