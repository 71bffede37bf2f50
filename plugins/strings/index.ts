/**
 * `portico/strings`: functions for shortening, decoding and masking texts, patterns of names, maps by name, values of a
 * query, entity tags, and URLs.
 */
export { clip, shorten } from "./clip.ts";
export { decodeText, encodingOf } from "./decode.ts";
export { maskNamed } from "./mask.ts";
export { expectedVersions, versionTag } from "./entity-tag.ts";
export { definitionFault } from "./faults.ts";
export { refuseNames, wrongAtStart } from "./names.ts";
export { fitsPattern } from "./pattern.ts";
export { choiceIn, limitIn, momentIn, numberIn, secondsIn, timeIn } from "./query.ts";
export { parseUrl, SOCKET_ADDRESS, WEB_ADDRESS } from "./url.ts";
