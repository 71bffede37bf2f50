/** Was a shortcut through a stream of text deltas. Every event goes to the parser now, which gives the same. */

/** The members that still mean something. */
interface FastPathOptions {
  /** Reads events. Takes bytes cut anywhere. */
  parser: { push(bytes: Buffer): void; end(): void };
}

/** @deprecated Hand the bytes to the parser. */
export function createFastPath({ parser }: FastPathOptions) {
  return {
    push: (bytes: Buffer) => parser.push(bytes),
    end: () => parser.end(),
    learn() {},
    takeLast: (): Buffer | undefined => undefined,
  };
}
