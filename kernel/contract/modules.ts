/** Modules of users, as plugins load them. */

/** A module of the user's that the gateway has bundled and evaluated. */
export interface UserModule {
  exports: Record<string, unknown>;
  /** Every file of the bundle, absolute; the entry is one of them. */
  inputs: readonly string[];
  /** Changes when the content of any input does. */
  hash: string;
}
