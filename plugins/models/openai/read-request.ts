/**
 * Reads a body into a checked request, which is exactly what will be sent. No upstream may read a member in another way
 * than the gateway does, and only the gateway chooses models.
 */
import type { ChatRequest } from "portico/provider";
import { type Fields, isObject } from "./fields.ts";
import { eachMember, latin1Of, type RawBody } from "./members.ts";
import { checkRequest } from "./request.ts";
import { errors } from "../errors.ts";

export interface ReadRequest {
  request: ChatRequest;
  /** Models to go on to, in their order, after the request's own. */
  fallbacks: readonly string[];
  /** The bytes say the same as the request: they may be sent. */
  same: boolean;
}

const NONE: readonly string[] = [];
const MOST_MODELS = 16;
/** Its first byte in UTF-8: we read over it, and not every server does. */
const BYTE_ORDER_MARK = 0xef;

/** `raw`: what the value was read from. Throws `invalid_request_error` (400) with `param`. */
export function readRequest(value: unknown, raw?: RawBody): ReadRequest {
  if (!isObject(value)) return { request: checkRequest(value), fallbacks: NONE, same: true };
  checkMembers(value, raw);
  const strayOptions = value["stream"] !== true && value["stream_options"] !== undefined;
  if (value["models"] === undefined && !strayOptions)
    return {
      request: checkRequest(value),
      fallbacks: NONE,
      same: raw === undefined || !isMarked(raw),
    };
  const { fields, fallbacks } = splitModels(value);
  const { stream_options: _, ...others } = fields;
  return { request: checkRequest(strayOptions ? others : fields), fallbacks, same: false };
}

function isMarked(raw: RawBody): boolean {
  return (typeof raw === "string" ? raw.charCodeAt(0) : raw[0]) === BYTE_ORDER_MARK;
}

/** The members without `models`, and the models to go on to after `model`, which may be the first of them. */
export function splitModels({ models, ...fields }: Fields): {
  fields: Fields;
  fallbacks: readonly string[];
} {
  const listed = readModels(models);
  if (fields["model"] == null && listed.length > 0) fields["model"] = listed[0];
  const fallbacks = listed.filter(
    (model, i) => model !== fields["model"] && listed.indexOf(model) === i,
  );
  return { fields, fallbacks };
}

function readModels(models: unknown): string[] {
  if (models == null) return [];
  const good =
    Array.isArray(models) &&
    models.length > 0 &&
    models.every((model) => typeof model === "string" && model !== "");
  if (!good) fail("`models` must be a list of model names, to be tried in their order.", "models");
  if (models.length > MOST_MODELS)
    fail(`\`models\` names ${models.length} models: at most ${MOST_MODELS} are allowed.`, "models");
  return models as string[];
}

// cspell:ignore modelſ
// By Unicode's rules of case and width, as some servers read their members: `modelſ` is `models` to them. Others trim.
const MODEL = /^[\s\p{C}]*models?[\s\p{C}]*$/iu;
const ASCII = /^[\0-\x7f]*$/;
const namesAModel = (key: string) => MODEL.test(ASCII.test(key) ? key : key.normalize("NFKC"));
/** Members that were looked at: most requests have the same few. */
const harmless = new Set<string>(["model", "models"]);
const MOST_HARMLESS = 500;
const LONGEST_HARMLESS = 40;
/** Members that some servers take for members of the body itself. */
const MERGED = ["extra_body", "extraBody"];

/** Throws 400 for members that an upstream could take for `model` or `models`, and for ones that come twice. */
export function checkMembers(value: Fields, raw?: RawBody): void {
  const keys = Object.keys(value);
  refuseNearModels(keys);
  refuseMergedModels(value);
  if (raw === undefined || ownMembers(latin1Of(raw)) === keys.length) return;
  const twice = repeated(
    typeof raw === "string" ? Buffer.from(raw, "latin1").toString() : raw.toString(),
  );
  if (twice !== undefined)
    fail(`\`${shown(twice)}\` occurs twice in the body. Send it once.`, shown(twice));
}

function refuseNearModels(keys: readonly string[]): void {
  for (const key of keys) {
    if (harmless.has(key)) continue;
    if (namesAModel(key))
      fail(
        `\`${shown(key)}\` is not a field of this request: use \`${/models/iu.test(key) ? "models" : "model"}\`.`,
        shown(key),
      );
    if (key.length <= LONGEST_HARMLESS && harmless.size < MOST_HARMLESS) harmless.add(key);
  }
}

function refuseMergedModels(value: Fields): void {
  for (const name of MERGED) {
    const merged = value[name];
    if (!isObject(merged)) continue;
    const key = Object.keys(merged).find(namesAModel);
    if (key !== undefined)
      fail(
        `\`${name}.${shown(key)}\` must not name models: use \`model\` or \`models\`.`,
        `${name}.${shown(key)}`,
      );
  }
}

/** As they are written: of two with one name, only the last is read. */
function ownMembers(text: string): number {
  let count = 0;
  eachMember(text, (_from, _to, depth) => {
    if (depth === 1) count++;
  });
  return count;
}

/** The first member of the object itself that comes twice. The text is JSON. */
function repeated(text: string): string | undefined {
  const seen = new Set<string>();
  let twice: string | undefined;
  eachMember(text, (from, to, depth) => {
    if (depth !== 1 || twice !== undefined) return;
    const name = JSON.parse(text.slice(from, to)) as string;
    if (seen.has(name)) twice = name;
    else seen.add(name);
  });
  return twice;
}

function shown(name: string): string {
  return Buffer.from(name).toString().slice(0, 60);
}

function fail(message: string, param: string): never {
  throw errors.invalidRequest({ problem: message }, { param });
}
