/**
 * Reads a body into a validated request, which is exactly what will be sent. No upstream may interpret a member
 * differently than the gateway, and only the gateway chooses models.
 */
import type { ChatRequest } from "portico/provider";
import { type Fields, isObject } from "./fields.ts";
import { eachMember, latin1Of, type RawBody } from "./members.ts";
import { checkRequest } from "./request.ts";
import { errors } from "../errors.ts";

export interface ReadRequest {
  request: ChatRequest;
  /** Models to fall back to, in their order, after the request's own. */
  fallbacks: readonly string[];
  /** The bytes have the same content as the request, so they may be sent. */
  isUnchanged: boolean;
}

const NO_MODELS: readonly string[] = [];
const MAX_MODELS = 16;
/** Its first byte in UTF-8. The gateway skips the mark, but not every server does. */
const BYTE_ORDER_MARK = 0xef;

/** Validates a request. `raw`: the bytes of the value. Throws `invalid_request_error` (400) with `param`. */
export function readRequest(value: unknown, raw?: RawBody): ReadRequest {
  if (!isObject(value))
    return { request: checkRequest(value), fallbacks: NO_MODELS, isUnchanged: true };
  checkMembers(value, raw);
  const hasStrayOptions = value["stream"] !== true && value["stream_options"] !== undefined;
  if (value["models"] === undefined && !hasStrayOptions)
    return {
      request: checkRequest(value),
      fallbacks: NO_MODELS,
      isUnchanged: raw === undefined || !isMarked(raw),
    };
  const { fields, fallbacks } = splitModels(value);
  const { stream_options: _, ...otherFields } = fields;
  return {
    request: checkRequest(hasStrayOptions ? otherFields : fields),
    fallbacks,
    isUnchanged: false,
  };
}

function isMarked(raw: RawBody): boolean {
  return (typeof raw === "string" ? raw.charCodeAt(0) : raw[0]) === BYTE_ORDER_MARK;
}

/**
 * Splits off `models`. Returns the other members, and the models to fall back to after `model`, which may be the first
 * of `models`.
 */
export function splitModels({ models, ...fields }: Fields): {
  fields: Fields;
  fallbacks: readonly string[];
} {
  const listedModels = readModels(models);
  if (fields["model"] == null && listedModels.length > 0) fields["model"] = listedModels[0];
  const fallbacks = listedModels.filter(
    (model, i) => model !== fields["model"] && listedModels.indexOf(model) === i,
  );
  return { fields, fallbacks };
}

function readModels(models: unknown): string[] {
  if (models == null) return [];
  const isValid =
    Array.isArray(models) &&
    models.length > 0 &&
    models.every((model) => typeof model === "string" && model !== "");
  if (!isValid)
    fail("`models` must be a list of model names, to be tried in their order.", "models");
  if (models.length > MAX_MODELS)
    fail(`\`models\` names ${models.length} models: at most ${MAX_MODELS} are allowed.`, "models");
  return models as string[];
}

// Compares by Unicode's rules of case and width, as some servers do: `modelſ` is `models` to them. Others trim names.
const MODEL_KEY = /^[\s\p{C}]*models?[\s\p{C}]*$/iu;
const ASCII = /^[\0-\x7f]*$/;
const isModelKey = (key: string) => MODEL_KEY.test(ASCII.test(key) ? key : key.normalize("NFKC"));
/** Caches the checked members, because most requests have the same few. */
const harmlessKeys = new Set<string>(["model", "models"]);
const MAX_HARMLESS_KEYS = 500;
const MAX_HARMLESS_LENGTH = 40;
/** Members whose own members some servers merge into the body. */
const MERGED_MEMBERS = ["extra_body", "extraBody"];

/** Throws 400 for members that an upstream could interpret as `model` or `models`, and for repeated ones. */
export function checkMembers(value: Fields, raw?: RawBody): void {
  const keys = Object.keys(value);
  refuseNearModels(keys);
  refuseMergedModels(value);
  if (raw === undefined || countMembers(latin1Of(raw)) === keys.length) return;
  const repeatedName = findRepeatedName(
    typeof raw === "string" ? Buffer.from(raw, "latin1").toString() : raw.toString(),
  );
  if (repeatedName !== undefined)
    fail(
      `\`${shortenName(repeatedName)}\` occurs twice in the body. Send it once.`,
      shortenName(repeatedName),
    );
}

function refuseNearModels(keys: readonly string[]): void {
  for (const key of keys) {
    if (harmlessKeys.has(key)) continue;
    if (isModelKey(key))
      fail(
        `\`${shortenName(key)}\` is not a field of this request: use \`${/models/iu.test(key) ? "models" : "model"}\`.`,
        shortenName(key),
      );
    if (key.length <= MAX_HARMLESS_LENGTH && harmlessKeys.size < MAX_HARMLESS_KEYS)
      harmlessKeys.add(key);
  }
}

function refuseMergedModels(value: Fields): void {
  for (const name of MERGED_MEMBERS) {
    const mergedMembers = value[name];
    if (!isObject(mergedMembers)) continue;
    const key = Object.keys(mergedMembers).find(isModelKey);
    if (key !== undefined)
      fail(
        `\`${name}.${shortenName(key)}\` is not allowed: name models only in the top-level \`model\` or \`models\`.`,
        `${name}.${shortenName(key)}`,
      );
  }
}

/** Counts the members as written: of two with one name, only the last is parsed. */
function countMembers(text: string): number {
  let count = 0;
  eachMember(text, (_from, _to, depth) => {
    if (depth === 1) count++;
  });
  return count;
}

/** Returns the first repeated member of the object itself. The text must be JSON. */
function findRepeatedName(text: string): string | undefined {
  const names = new Set<string>();
  let repeatedName: string | undefined;
  eachMember(text, (from, to, depth) => {
    if (depth !== 1 || repeatedName !== undefined) return;
    const name = JSON.parse(text.slice(from, to)) as string;
    if (names.has(name)) repeatedName = name;
    else names.add(name);
  });
  return repeatedName;
}

function shortenName(name: string): string {
  return Buffer.from(name).toString().slice(0, 60);
}

function fail(message: string, param: string): never {
  throw errors.invalidRequest({ problem: message }, { param });
}
