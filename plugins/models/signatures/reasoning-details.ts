/** Joins the pieces of OpenRouter's `reasoning_details`, the blocks of reasoning, in a stream. */
import { isObject, type JsonObject } from "portico/provider";

/** Members whose pieces are concatenated. */
const TEXTS = ["text", "summary"];
/** The data of an encrypted block arrives as a whole. */
const SEALED = "reasoning.encrypted";

/** Returns the complete blocks, as the upstream requires them again. Undefined if there are none. */
export function joinDetails(details: unknown): JsonObject[] | undefined {
  if (!Array.isArray(details)) return undefined;
  const blocks: JsonObject[] = [];
  for (const piece of details.filter(isObject)) {
    const block = blocks.at(-1);
    if (block !== undefined && isContinued(block, piece)) addPiece(block, piece);
    else blocks.push({ ...piece });
  }
  return blocks.length === 0 ? undefined : blocks;
}

function isContinued(block: JsonObject, piece: JsonObject): boolean {
  const isSame = block["type"] === piece["type"] && block["index"] === piece["index"];
  return isSame && piece["type"] !== SEALED && !isSigned(block);
}

/** A signature is the last piece of a block. */
function isSigned({ signature }: JsonObject): boolean {
  return typeof signature === "string" && signature !== "";
}

function addPiece(block: JsonObject, piece: JsonObject): void {
  for (const [name, value] of Object.entries(piece)) {
    if (value == null) continue;
    const text = block[name];
    const isText = TEXTS.includes(name) && typeof text === "string" && typeof value === "string";
    block[name] = isText ? text + value : value;
  }
}
