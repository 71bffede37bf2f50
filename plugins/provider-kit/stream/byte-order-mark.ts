/** How many bytes a byte order mark takes at the beginning: some servers write one, and no format of ours knows it. */
export function markLength(bytes: Buffer): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}

export function withoutMark(bytes: Buffer): Buffer {
  const length = markLength(bytes);
  return length === 0 ? bytes : bytes.subarray(length);
}
