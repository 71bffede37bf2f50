/** `portico/strings`: cutting texts to a length, masking what a field of that name hides, patterns of names, and URLs. */
export { clip, shorten } from "./clip.ts";
export { maskNamed } from "./mask.ts";
export { fitsPattern } from "./pattern.ts";
export { parseUrl } from "./url.ts";
