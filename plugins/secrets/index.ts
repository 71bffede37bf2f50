/**
 * `portico/secrets`: masks the gateway's secrets in texts, bodies, errors, parts, events and bytes that come from outside.
 * It holds pure functions, and objects that live as long as one stream.
 */
export { hiddenBody } from "./error-body.ts";
export { MaskedBytes } from "./masked-bytes.ts";
export { MaskedEvents } from "./masked-events.ts";
export { createMasks, type Masks, type MasksOptions } from "./masks.ts";
export { PartMask } from "./part-mask.ts";
export { SecretMask, withoutTokens } from "./secret-mask.ts";
