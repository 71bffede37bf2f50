/** `POST /v1/embeddings`: the channels, routing and fail-over of chat, asked for vectors. */
import { type Call, isPorticoError, reply } from "portico";
import {
  type ChatProvider,
  type ChatRequest,
  readOpenAiProblem,
  repairCounts,
  readCountOrZero,
  upstreamError,
  type Usage,
  wellFormedUnicode,
} from "portico/provider";
import { converse } from "../routing/attempts.ts";
import { reportResponse, statusOf } from "./ask.ts";
import { isObject } from "../openai/fields.ts";
import { jsonBody } from "../openai/members.ts";
import { checkMembers, splitModels } from "../openai/read-request.ts";
import { meterFor } from "./metering.ts";
import { NO_OUTPUT } from "./usage.ts";
import { admit, type Endpoint, usable } from "./access.ts";
import { unsupported } from "./forward.ts";
import { withNearest } from "./model-routes.ts";
import { limitsOfVectors } from "../upstream/response-extent.ts";
import { jobForCall, markFailure, traceOf } from "./open.ts";
import { errors } from "../errors.ts";

type Fields = Record<string, unknown>;

const MAX_INPUTS = 2048;

/** Writes its own response: returns nothing, or throws before anything was written. */
export async function embeddings(endpoint: Endpoint, call: Call): Promise<unknown> {
  const { engine, events } = endpoint;
  const value = await jsonBody(call);
  if (isObject(value)) checkMembers(value, await call.body());
  const { fields, fallbacks } = isObject(value)
    ? splitModels(value)
    : { fields: value, fallbacks: [] };
  const request = checkEmbeddings(fields);
  const job = jobForCall(endpoint, call, {
    // No messages: what is sent is made of the other fields.
    request: { ...request, messages: [] } as unknown as ChatRequest,
    stream: false,
    sessionKey: "embeddings",
    metadata: request["metadata"],
  });
  job.limits = limitsOfVectors(Array.isArray(request["input"]) ? request["input"].length : 1);
  await admit(endpoint, call, request.model);
  job.fallbacks = await usable(endpoint, call.client, fallbacks);
  const report = (outcome: Parameters<typeof reportResponse>[2]) => {
    if (events.hasListeners("chat:response")) reportResponse(events, job, outcome);
  };
  const meter = meterFor(endpoint, job, "embeddings");
  let response: Fields;
  let firstByteMs: number;
  try {
    const refuse = (channel: string) =>
      unsupported(endpoint, "embeddings", channel, (able) => able.wire?.embeddings);
    const answer = await converse(
      { ...engine, provider: (name) => embedder(engine.provider(name), refuse) },
      job,
    );
    response = answer.completion as unknown as Fields;
    ({ firstByteMs } = answer);
  } catch (error) {
    markFailure(call.res, job, error);
    const status = statusOf(error, job);
    await meter?.({ status });
    report({ status, error: isPorticoError(error) ? error.message : "internal error" });
    throw await withNearest(endpoint, call.client, error);
  }
  repairCounts(response["usage"]);
  const usage = usageOf(response["usage"]);
  const reported = response["usage"] == null ? undefined : usage;
  await meter?.({ status: 200, firstByteMs, usage: reported, output: NO_OUTPUT });
  report({ status: 200, firstByteMs, usage });
  // Clients read the field; a provider that gave none counts as unmetered all the same.
  const { prompt_tokens, total_tokens } = usage;
  const whole = {
    object: "list",
    ...inFormat(response, request["encoding_format"]),
    model: response["model"] ?? job.trace.model,
    usage: response["usage"] ?? { prompt_tokens, total_tokens },
  };
  return reply(200, whole, traceOf(job));
}

/** The provider as one that is asked for embeddings where chat would be asked. */
function embedder(
  provider: ChatProvider | undefined,
  refuse: (channel: string) => never,
): ChatProvider | undefined {
  if (provider === undefined) return undefined;
  const { name, wire } = provider;
  const own = wire?.embeddings;
  if (wire === undefined || own === undefined)
    return { name, complete: async (_, { channel }) => refuse(channel) };
  return {
    name,
    defaultBaseUrl: provider.defaultBaseUrl,
    wire: {
      rules: [wellFormedUnicode],
      encode(request, target) {
        const { messages: _, ...fields } = request;
        // Several servers refuse base64, or answer nothing: floats are what all have, and packing them is our own matter.
        if (fields["encoding_format"] === "base64") delete fields["encoding_format"];
        return own.encode(fields, target);
      },
      decode: (body, sent, target) =>
        withVectors(own.decode(body, sent, target), body) as unknown as ReturnType<Decode>,
      error: (status, headers, body) => wire.error(status, headers, body),
      credential: wire.credential,
    },
  };
}

/** What a server answers that has no embeddings for this, under a status that says all went well. */
function withVectors(response: Fields, body: Buffer): Fields {
  const { data } = response;
  const vectors = Array.isArray(data) && data.length > 0;
  if (vectors && data.every((one) => isObject(one) && hasVector(one))) return response;
  const message = `The upstream's response has no embeddings. ${readOpenAiProblem(200, body).message}`;
  throw upstreamError({ kind: "upstream", message }, 200);
}

function hasVector({ embedding }: Fields): boolean {
  return (
    typeof embedding === "string" || (Array.isArray(embedding) && embedding.every(Number.isFinite))
  );
}

type Decode = NonNullable<NonNullable<ChatProvider["wire"]>["decode"]>;

/** Returns the value itself, or throws `invalid_request_error` (400) with `param`. */
export function checkEmbeddings(value: unknown): Fields & { model: string } {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    fail("The body must be a JSON object with `model` and `input`.");
  const fields = value as Fields;
  const { model, input } = fields;
  if (typeof model !== "string" || model === "")
    fail("`model` must be a non-empty string.", "model");
  if (input == null) fail("`input` is missing: send a string or a list of strings.", "input");
  if (input === "") fail("`input` must not be empty.", "input");
  if (typeof input !== "string") checkInputs(input);
  checkOptions(fields);
  return fields as Fields & { model: string };
}

function checkOptions(fields: Fields): void {
  const { encoding_format: format, dimensions, user } = fields;
  if (format != null && format !== "float" && format !== "base64")
    fail('`encoding_format` must be "float" or "base64".', "encoding_format");
  if (dimensions != null && !(Number.isInteger(dimensions) && (dimensions as number) >= 1))
    fail("`dimensions` must be an integer of at least 1.", "dimensions");
  if (user != null && typeof user !== "string") fail("`user` must be a string.", "user");
}

/** Texts, tokens, or lists of tokens. */
function checkInputs(input: unknown): void {
  if (!Array.isArray(input))
    fail("`input` must be a string, a list of strings, or tokens.", "input");
  if (input.length === 0) fail("`input` is empty: send at least one string.", "input");
  if (input.every(isToken)) return;
  if (input.length > MAX_INPUTS)
    fail(`\`input\` holds ${input.length} entries: at most ${MAX_INPUTS} are allowed.`, "input");
  const kind = typeof input[0];
  for (const [i, one] of input.entries()) {
    const tokens = Array.isArray(one) && one.length > 0 && one.every(isToken);
    if (typeof one !== kind || (!tokens && (typeof one !== "string" || one === "")))
      fail(
        `\`input[${i}]\` must be a non-empty string, or all of them lists of tokens.`,
        `input[${i}]`,
      );
  }
}

function isToken(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0;
}

/** Vectors as the caller asked for them, whether or not the upstream heeded it. */
function inFormat(response: Fields, format: unknown): Fields {
  const base64 = format === "base64";
  const data = (response["data"] as Fields[]).map((given, index) => {
    const entry: Fields = { object: "embedding", index, ...given };
    const { embedding } = entry;
    if (base64 && Array.isArray(embedding))
      return { ...entry, embedding: pack(embedding as number[]) };
    if (!base64 && typeof embedding === "string") return { ...entry, embedding: unpack(embedding) };
    return entry;
  });
  return { ...response, data };
}

function pack(vector: readonly number[]): string {
  const bytes = Buffer.allocUnsafe(vector.length * 4);
  for (const [i, number] of vector.entries()) bytes.writeFloatLE(number, i * 4);
  return bytes.toString("base64");
}

function unpack(text: string): number[] {
  const bytes = Buffer.from(text, "base64");
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, i) => bytes.readFloatLE(i * 4));
}

function usageOf(value: unknown): Usage {
  const { prompt_tokens, total_tokens } = (value ?? {}) as Partial<Usage>;
  const prompt = readCountOrZero(prompt_tokens);
  const total = Math.max(prompt, readCountOrZero(total_tokens));
  return { prompt_tokens: prompt, completion_tokens: 0, total_tokens: total };
}

function fail(message: string, param?: string): never {
  throw errors.invalidRequest({ problem: message }, { param });
}
