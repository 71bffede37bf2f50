/** Returns the length of a byte order mark at the beginning, in bytes. Some servers write one; no format here allows it. */
export function markLength(bytes: Buffer): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}

export function withoutMark(bytes: Buffer): Buffer {
  const length = markLength(bytes);
  return length === 0 ? bytes : bytes.subarray(length);
}
