/**
 * The young generation of the engine's heap. A start makes much that stays, for which it would grow to its 16 MB, and an
 * idle gateway would not give them back.
 */
import { setFlagsFromString } from "node:v8";

const growBy = (factor: number) => setFlagsFromString(`--semi-space-growth-factor=${factor}`);

/** To be called before anything is loaded: what the engine keeps of compiled code is good for one setting. */
export const holdYoungGeneration = () => growBy(1);

/** Back to the engine's default, for a gateway at work. */
export const letYoungGenerationGrow = () => growBy(2);
