/** Bytes to text: byte order mark or the zeros of UTF-16, then what the sender said, then what the document says of itself. */

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
  // every document begins with a character of ASCII: half of it is zero
  if (bytes.length > 3 && bytes[0] === 0 && bytes[1] !== 0 && bytes[2] === 0) return "utf-16be";
  if (bytes.length > 3 && bytes[0] !== 0 && bytes[1] === 0 && bytes[3] === 0) return "utf-16le";
  return undefined;
}

/** What could be read byte by byte is no UTF-16, whatever it says. */
function declaredIn(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, 1_024).toString("latin1");
  const said =
    /^\s*<\?xml[^>]*\bencoding\s*=\s*["']([\w.:-]+)["']/i.exec(head)?.[1] ??
    /<meta[^>]+charset\s*=\s*["']?\s*([\w.:-]+)/i.exec(head)?.[1];
  return said && /^utf-?16/i.test(said) ? "utf-8" : said;
}

/** The encoding that bytes are said to be in: by themselves, by `contentType`, or by the document. */
export function encodingOf(bytes: Buffer, contentType = ""): string {
  return (
    markOf(bytes) ??
    /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1] ??
    declaredIn(bytes) ??
    "utf-8"
  );
}

/** Text in whatever encoding it is said to be in; what is no valid UTF-8 though nothing else is said is read as Windows-1252. */
export function decodeText(bytes: Buffer, contentType = ""): string {
  const said = encodingOf(bytes, contentType);
  const isUtf8 = /^utf-?8$/i.test(said);
  try {
    const strict = decoder(said, isUtf8) ?? decoder("utf-8", true)!;
    const text = strict.decode(bytes);
    return strict.encoding === "windows-1252" ? withoutControls(text) : text;
  } catch {
    return withoutControls(new TextDecoder("windows-1252").decode(bytes));
  }
}

/** What Windows-1252 has from 0x80 on where ISO 8859-1 has control characters; five of those stay. */
const FROM_0X80 = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";

/** Node's decoder takes Windows-1252 for ISO 8859-1. */
function withoutControls(text: string): string {
  return text.replace(/[\x80-\x9f]/g, (control) => FROM_0X80[control.charCodeAt(0) - 0x80]!);
}
