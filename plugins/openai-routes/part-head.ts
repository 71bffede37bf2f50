/** Reads the head of one part of a multipart body, and refuses a head that can be read in more than one way. */
import { errors } from "./errors.ts";

/** The transfer encodings that leave the bytes unchanged (RFC 2045, 6.2). */
const IDENTITY_ENCODING = /^content-transfer-encoding:[ \t]*(?:7bit|8bit|binary)[ \t]*$/i;
const PARAMETER =
  /^;[ \t]{0,9}(name|filename\*?)=(?:"([^"\\]*)"|([\w.!#$&+^`|~*%{}-]+(?:'[\w-]*'[^\s;"'\\]*)?))[ \t]{0,9}/i;

/** Returns the part's name, and whether it is a file. Throws 400 for a malformed or ambiguous head. */
export function readHead(head: string): { name: string; file: boolean } {
  let disposition: string | undefined;
  for (const line of head.split("\r\n")) {
    if (!/^[\w!#$%&'*+.^`|~-]+:/.test(line) || /[\r\n\0]/.test(line))
      throw errors.partHeadMalformed();
    if (/^content-transfer-encoding:/i.test(line) && !IDENTITY_ENCODING.test(line))
      throw errors.partEncoded();
    if (!/^content-disposition:/i.test(line)) continue;
    if (disposition !== undefined) throw errors.twoDispositions();
    disposition = line;
  }
  return readDisposition(disposition ?? "");
}

function readDisposition(line: string): { name: string; file: boolean } {
  const begin = /^content-disposition:[ \t]{0,9}form-data[ \t]{0,9}(?=;)/i.exec(line);
  const parameters = new Map<string, string>();
  let rest = begin === null ? "" : line.slice(begin[0].length);
  while (rest !== "") {
    const match = PARAMETER.exec(rest);
    const key = match?.[1]?.toLowerCase() ?? "";
    if (match === null || parameters.has(key)) throw errors.ambiguousDisposition();
    parameters.set(key, match[2] ?? match[3] ?? "");
    rest = rest.slice(match[0].length);
  }
  const name = parameters.get("name");
  if (name === undefined) throw errors.nameMissing();
  return { name, file: parameters.has("filename") || parameters.has("filename*") };
}
