/** Users' modules, as plugins load them. */

/** A user's module that the gateway has bundled and evaluated. */
export interface UserModule {
  exports: Record<string, unknown>;
  /** The absolute paths of all files in the bundle, including the entry. */
  inputs: readonly string[];
  /** A hash of the content of all inputs. */
  hash: string;
}
