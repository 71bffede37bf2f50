/** `portico/strings`: cutting texts to a length, patterns of names, and URLs. */
export { clip, shorten } from "./clip.ts";
export { fitsPattern } from "./pattern.ts";
export { parseUrl } from "./url.ts";
