/** `POST /v1/embeddings`: uses the channels, routing and fallbacks of chat for embeddings. */
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
import { admit, type Endpoint, filterUsable } from "./access.ts";
import { failUnsupported } from "./forward.ts";
import { withSuggestion } from "./model-routes.ts";
import { limitsOfVectors } from "../upstream/response-extent.ts";
import { jobForCall, markFailure, traceOf } from "./open.ts";
import { errors } from "../errors.ts";

type Fields = Record<string, unknown>;

const MAX_INPUTS = 2048;

/** Returns the reply, or throws before anything was written. */
export async function embeddings(endpoint: Endpoint, call: Call): Promise<unknown> {
  const { engine, events } = endpoint;
  const value = await jsonBody(call);
  if (isObject(value)) checkMembers(value, await call.body());
  const { fields, fallbacks } = isObject(value)
    ? splitModels(value)
    : { fields: value, fallbacks: [] };
  const request = checkEmbeddings(fields);
  const job = jobForCall(endpoint, call, {
    // There are no messages: the request is built from the other members.
    request: { ...request, messages: [] } as unknown as ChatRequest,
    stream: false,
    sessionKey: "embeddings",
    metadata: request["metadata"],
  });
  job.limits = limitsOfVectors(Array.isArray(request["input"]) ? request["input"].length : 1);
  await admit(endpoint, call, request.model);
  job.fallbacks = await filterUsable(endpoint, call.client, fallbacks);
  const report = (outcome: Parameters<typeof reportResponse>[2]) => {
    if (events.hasListeners("chat:response")) reportResponse(events, job, outcome);
  };
  const meter = meterFor(endpoint, job, "embeddings");
  let response: Fields;
  let firstByteMs: number;
  try {
    const refuse = (channel: string) =>
      failUnsupported(endpoint, "embeddings", channel, (able) => able.wire?.embeddings);
    const answer = await converse(
      { ...engine, provider: (name) => adaptToEmbeddings(engine.provider(name), refuse) },
      job,
    );
    response = answer.completion as unknown as Fields;
    ({ firstByteMs } = answer);
  } catch (error) {
    markFailure(call.res, job, error);
    const status = statusOf(error, job);
    await meter?.({ status });
    report({ status, error: isPorticoError(error) ? error.message : "internal error" });
    throw await withSuggestion(endpoint, call.client, error);
  }
  repairCounts(response["usage"]);
  const usage = usageOf(response["usage"]);
  const reported = response["usage"] == null ? undefined : usage;
  await meter?.({ status: 200, firstByteMs, usage: reported, output: NO_OUTPUT });
  report({ status: 200, firstByteMs, usage });
  // Clients expect the field. A response without usage still counts as unmetered.
  const { prompt_tokens, total_tokens } = usage;
  const body = {
    object: "list",
    ...convertVectors(response, request["encoding_format"]),
    model: response["model"] ?? job.trace.model,
    usage: response["usage"] ?? { prompt_tokens, total_tokens },
  };
  return reply(200, body, traceOf(job));
}

/** Adapts the provider so that the routing of chat requests embeddings from it. */
function adaptToEmbeddings(
  provider: ChatProvider | undefined,
  refuse: (channel: string) => never,
): ChatProvider | undefined {
  if (provider === undefined) return undefined;
  const { name, wire } = provider;
  const embeddingsWire = wire?.embeddings;
  if (wire === undefined || embeddingsWire === undefined)
    return { name, complete: async (_, { channel }) => refuse(channel) };
  return {
    name,
    defaultBaseUrl: provider.defaultBaseUrl,
    wire: {
      rules: [wellFormedUnicode],
      encode(request, target) {
        const { messages: _, ...fields } = request;
        // Several servers refuse base64 or return nothing for it. All support floats, and `convertVectors` packs them.
        if (fields["encoding_format"] === "base64") delete fields["encoding_format"];
        return embeddingsWire.encode(fields, target);
      },
      decode: (body, sent, target) =>
        requireVectors(
          embeddingsWire.decode(body, sent, target),
          body,
        ) as unknown as ReturnType<Decode>,
      error: (status, headers, body) => wire.error(status, headers, body),
      credential: wire.credential,
    },
  };
}

/** Returns the response, or throws `upstream_error` if a response with a status of success has no embeddings. */
function requireVectors(response: Fields, body: Buffer): Fields {
  const { data } = response;
  const hasData = Array.isArray(data) && data.length > 0;
  if (hasData && data.every((entry) => isObject(entry) && hasVector(entry))) return response;
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

/** Checks a list of strings, of tokens, or of lists of tokens. */
function checkInputs(input: unknown): void {
  if (!Array.isArray(input))
    fail("`input` must be a string, a list of strings, or tokens.", "input");
  if (input.length === 0) fail("`input` is empty: send at least one string.", "input");
  if (input.every(isToken)) return;
  if (input.length > MAX_INPUTS)
    fail(`\`input\` holds ${input.length} entries: at most ${MAX_INPUTS} are allowed.`, "input");
  const kind = typeof input[0];
  for (const [i, entry] of input.entries()) {
    const isTokens = Array.isArray(entry) && entry.length > 0 && entry.every(isToken);
    if (typeof entry !== kind || (!isTokens && (typeof entry !== "string" || entry === "")))
      fail(
        `\`input[${i}]\` must be a non-empty string, unless every entry of \`input\` is a list of tokens.`,
        `input[${i}]`,
      );
  }
}

function isToken(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0;
}

/** Converts the vectors to the requested format if the upstream ignored it. */
function convertVectors(response: Fields, format: unknown): Fields {
  const isBase64 = format === "base64";
  const data = (response["data"] as Fields[]).map((upstreamEntry, index) => {
    const entry: Fields = { object: "embedding", index, ...upstreamEntry };
    const { embedding } = entry;
    if (isBase64 && Array.isArray(embedding))
      return { ...entry, embedding: pack(embedding as number[]) };
    if (!isBase64 && typeof embedding === "string")
      return { ...entry, embedding: unpack(embedding) };
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
