/** OpenRouter's `reasoning_details`: the blocks of reasoning, which a stream brings in pieces. */
import { isObject, type JsonObject } from "portico/provider";

/** Members whose pieces are put together. */
const TEXTS = ["text", "summary"];
/** The data of sealed blocks comes as a whole. */
const SEALED = "reasoning.encrypted";

/** The blocks with their pieces put together, as the upstream wants them back. Undefined where there are none. */
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

/** The signature ends a block. */
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
