/** Translates `POST /v1/completions` (with `suffix`, as editors send it) to Mistral's fill-in-the-middle route. */
import type { PorticoError } from "portico";
import {
  bearerHeaders,
  createSseParser,
  errorInResponse,
  parseResponse,
  postJson,
  refused,
  type RouteForm,
  type StreamDecoder,
  type Target,
  readIndex,
  readText,
  upstreamError,
  type Usage,
  wantsUsage,
  laterUsage,
} from "portico/provider";
import { createDecoder } from "portico/models";
import { readProblem } from "./problem.ts";
import { type ChatResponse, failureIn, finishReason, readContent, readUsage } from "./response.ts";

/** A whole response, or an event of a stream, with its choices. */
type Response = ChatResponse & Required<Pick<ChatResponse, "choices">>;

export const completions: RouteForm = {
  encode(
    {
      model,
      prompt,
      suffix,
      max_tokens,
      temperature,
      top_p,
      stop,
      seed,
      stream,
      stream_options,
      n,
      echo,
      ...rest
    },
    target,
  ) {
    if (n != null && n !== 1)
      throw refused("n", "This channel returns one response per request: `n` must be 1");
    if (echo === true)
      throw refused("echo", "This channel cannot repeat the prompt: leave out `echo`");
    const body = {
      model,
      prompt: singlePrompt(prompt),
      suffix,
      max_tokens,
      temperature,
      top_p,
      stop,
      random_seed: seed,
      stream,
    };
    const dropped = Object.keys(rest).filter((name) => rest[name] != null);
    const state = wantsUsage({ stream_options });
    return postJson(`${target.baseUrl}/v1/fim/completions`, bearerHeaders(target), body, {
      dropped,
      state,
    });
  },
  decode(body, _sent, target) {
    const response = readResponse(body, 200);
    return {
      ...headOf(response, target),
      choices: choicesOf(response).map(({ index, text, finish = "stop" }) =>
        choiceOf(index, text, finish),
      ),
      usage: response.usage,
    };
  },
  decoder: (sent, target) => decodeStream(sent.state === true, target),
};

/** Returns the prompt, which may be a list with one text. */
function singlePrompt(prompt: unknown): string {
  const only = Array.isArray(prompt) && prompt.length === 1 ? (prompt[0] as unknown) : prompt;
  if (typeof only === "string") return only;
  throw refused("prompt", "This channel completes one prompt: send `prompt` as a string");
}

/** Creates the decoder of a stream. It writes one event for each event of the upstream. */
function decodeStream(includeUsage: boolean, target: Target): StreamDecoder {
  let output = "";
  let head: object | undefined;
  let usage: Usage | undefined;
  let finish: string | undefined;
  let isDone = false;
  let failure: PorticoError | undefined;
  const unfinished = new Set<number>();

  function write(members: object): void {
    output += `data: ${JSON.stringify({ ...head, ...members })}\n\n`;
  }

  function onEvent(data: Buffer): void {
    if (failure !== undefined || isDone) return;
    try {
      if (data.toString("latin1").trim() === "[DONE]") close();
      else onChunk(readResponse(data, 0));
    } catch (error) {
      failure = error as PorticoError;
    }
  }

  function onChunk(response: Response): void {
    head ??= headOf(response, target);
    if (response.usage) usage = laterUsage(usage, readUsage(response.usage));
    const choices = choicesOf(response);
    for (const { index, finish: reason } of choices) {
      if (reason === undefined) unfinished.add(index);
      else unfinished.delete(index);
      finish ??= reason;
    }
    if (choices.length > 0)
      write({
        choices: choices.map(({ index, text, finish: reason }) => choiceOf(index, text, reason)),
      });
  }

  /** Ends the stream, and each unfinished choice with `stop`. Throws if nothing has arrived. */
  function close(): void {
    if (head === undefined)
      throw upstreamError({ kind: "upstream", message: "The upstream's response is empty." }, 0);
    for (const index of unfinished) write({ choices: [choiceOf(index, "", "stop")] });
    finish ??= "stop";
    if (includeUsage && usage !== undefined) write({ choices: [], usage });
    output += "data: [DONE]\n\n";
    isDone = true;
  }

  const parser = createSseParser(onEvent);
  return createDecoder({
    push: (bytes) => parser.push(bytes),
    flush: () => parser.end(),
    close,
    take() {
      const bytes = output === "" ? undefined : Buffer.from(output);
      output = "";
      return bytes;
    },
    usage: () => usage,
    finishReason: () => finish,
    failure: () => failure,
    done: () => isDone,
  });
}

/** Reads a response or an event. Throws `upstreamError` for an error. */
function readResponse(body: Buffer, status: number): Response {
  const response = parseResponse(body) as ChatResponse | undefined;
  if (!Array.isArray(response?.choices)) throw errorInResponse(readProblem(status, body));
  const failure = failureIn(response);
  if (failure !== undefined) throw failure;
  return response as Response;
}

function headOf({ model }: Response, { id, created, model: requestedModel }: Target) {
  return {
    id: id.replace(/^chatcmpl-/, "cmpl-"),
    object: "text_completion",
    created,
    model: readText(model, requestedModel),
  };
}

function choicesOf({ choices }: Response) {
  return choices.map(({ index, message, delta, finish_reason }, i) => ({
    text: readContent((message ?? delta)?.content).text,
    index: readIndex(index, i),
    finish: finish_reason ? finishReason(finish_reason, false) : undefined,
  }));
}

function choiceOf(index: number, text: string, finish: string | undefined) {
  return { text, index, logprobs: null, finish_reason: finish ?? null };
}
