/** `portico/strings`: cutting texts to a length, and patterns of names. */
export { clip, shorten } from "./clip.ts";
export { fitsPattern } from "./pattern.ts";
