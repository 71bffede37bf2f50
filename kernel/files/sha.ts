/** SHA-256, in hexadecimal. */
export function sha(content: string | Buffer): string {
  const { createHash } = process.getBuiltinModule("node:crypto"); // takes time to load, and most commands do without
  return createHash("sha256").update(content).digest("hex");
}
