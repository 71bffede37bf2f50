/** Returns the SHA-256 digest in hexadecimal. */
export function sha(content: string | Buffer): string {
  const { createHash } = process.getBuiltinModule("node:crypto"); // slow to load, and most commands do not need it
  return createHash("sha256").update(content).digest("hex");
}
