/** Bytes to text: byte order mark, then what the sender said, then what the document says of itself. */

function decoder(label: string, fatal: boolean) {
  try {
    return new TextDecoder(label, { fatal });
  } catch {
    return undefined;
  }
}

function markOf(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return "utf-8";
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  return undefined;
}

function declaredIn(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, 1_024).toString("latin1");
  return (
    /^\s*<\?xml[^>]*\bencoding\s*=\s*["']([\w.:-]+)["']/i.exec(head)?.[1] ??
    /<meta[^>]+charset\s*=\s*["']?\s*([\w.:-]+)/i.exec(head)?.[1]
  );
}

/** Text in whatever encoding it is said to be in; what is no valid UTF-8 though nothing else is said is read as Windows-1252. */
export function decodeText(bytes: Buffer, contentType = ""): string {
  const said = markOf(bytes) ?? /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1] ?? declaredIn(bytes) ?? "utf-8";
  const isUtf8 = /^utf-?8$/i.test(said);
  try {
    const strict = decoder(said, isUtf8) ?? decoder("utf-8", true)!;
    return strict.decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}
