/**
 * Decodes bytes to text. The encoding comes from the byte order mark or the zeros of UTF-16, then the content type, then
 * the document's declaration.
 */

function createDecoder(label: string, fatal: boolean) {
  try {
    return new TextDecoder(label, { fatal });
  } catch {
    return undefined;
  }
}

function detectByFirstBytes(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return "utf-8";
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  // every document begins with an ASCII character, one byte of which is zero in UTF-16
  if (bytes.length > 3 && bytes[0] === 0 && bytes[1] !== 0 && bytes[2] === 0) return "utf-16be";
  if (bytes.length > 3 && bytes[0] !== 0 && bytes[1] === 0 && bytes[3] === 0) return "utf-16le";
  return undefined;
}

/**
 * Returns the encoding that the document declares. UTF-16 becomes UTF-8, since a declaration that is readable byte by byte
 * cannot be UTF-16.
 */
function declaredEncoding(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, 1_024).toString("latin1");
  const label =
    /^\s*<\?xml[^>]*\bencoding\s*=\s*["']([\w.:-]+)["']/i.exec(head)?.[1] ??
    /<meta[^>]+charset\s*=\s*["']?\s*([\w.:-]+)/i.exec(head)?.[1];
  return label && /^utf-?16/i.test(label) ? "utf-8" : label;
}

/** Returns the encoding of a document: from its first bytes, from `contentType`, or from its own declaration. */
export function encodingOf(bytes: Buffer, contentType = ""): string {
  return (
    detectByFirstBytes(bytes) ??
    /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1] ??
    declaredEncoding(bytes) ??
    "utf-8"
  );
}

/**
 * Decodes a document in its stated encoding. If that is UTF-8 or missing and the bytes are invalid, decodes them as
 * Windows-1252.
 */
export function decodeText(bytes: Buffer, contentType = ""): string {
  const label = encodingOf(bytes, contentType);
  const isUtf8 = /^utf-?8$/i.test(label);
  try {
    const strict = createDecoder(label, isUtf8) ?? createDecoder("utf-8", true)!;
    const text = strict.decode(bytes);
    return strict.encoding === "windows-1252" ? replaceControls(text) : text;
  } catch {
    return replaceControls(new TextDecoder("windows-1252").decode(bytes));
  }
}

/** The characters of Windows-1252 from 0x80 on. ISO 8859-1 has control characters there, five of which are the same. */
const FROM_0X80 = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";

/** Replaces control characters by those of Windows-1252, because Node's decoder treats Windows-1252 as ISO 8859-1. */
function replaceControls(text: string): string {
  return text.replace(/[\x80-\x9f]/g, (control) => FROM_0X80[control.charCodeAt(0) - 0x80]!);
}
