/** `POST /v1/chat/completions`: reads the request, offers it to hooks, asks, and writes the answer. */
import type { ServerResponse } from "node:http";
import { type Call, type ErrorForm, isPorticoError, PorticoError } from "portico";
import type { Engine } from "./attempts.ts";
import { ask, completionOf, type Emitter, errorEvent, offerRequest, type Report, reportResponse } from "./exchange.ts";
import { type Answer, Job } from "./job.ts";
import { keepAlive } from "./keep-alive.ts";
import { completionAsStream, textCompletion } from "./openai-answer.ts";
import { prefixAnswer, prefixStream } from "./prefix.ts";
import { checkRequest, lastUserIndex, textOf, withLastUserText } from "./request.ts";
import { newCompletionId } from "./target.ts";

/** Errors below `/v1` in OpenAI's form. */
export const openaiForm: ErrorForm = ({ code, message, status, type, param, details }) => ({
  error: {
    message,
    type: type ?? typeOf(status),
    param: param ?? null,
    code: code === "unauthorized" ? "invalid_api_key" : code,
    ...details,
  },
});

function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "api_error";
}

export interface Endpoint {
  engine: Engine;
  events: Emitter;
  busy<T>(work: Promise<T>): Promise<T>;
}

/** Answers by itself: returns nothing, or throws before anything was written. */
export async function chatCompletions({ engine, events, busy }: Endpoint, call: Call): Promise<void> {
  const request = checkRequest(await call.json());
  const job = new Job({
    request,
    raw: await call.body(),
    stream: request.stream === true,
    requestId: call.id,
    client: call.client,
    sessionKey: sessionKeyOf(call, request["user"]),
  });
  const { res } = call;
  res.once("close", () => {
    if (!res.writableFinished) job.cancel();
  });
  const pushed = events.hasListeners("message:received") ? await offerMessage(events, job, res) : NONE;
  if (pushed === "answered") return;
  if (events.hasListeners("chat:request")) await offerRequest(events, job);
  const reports = events.hasListeners("chat:response");
  const sent = events.hasListeners("message:sent");
  job.capture = reports || sent;

  let answer: Answer;
  try {
    answer = await ask(
      engine,
      job,
      reports || sent ? (report) => tell(events, job, report, { reports, sent }) : undefined,
    );
  } catch (error) {
    traceHeaders(res, job);
    if (job.trace.attempts > 1) res.setHeader("x-should-retry", "false");
    if (isPorticoError(error) && error.status === 429 && error.headers?.["retry-after"] === undefined)
      res.setHeader("retry-after", "1");
    throw error;
  }
  if (res.destroyed) return;
  traceHeaders(res, job);
  if (answer.stream === undefined) {
    const body =
      pushed.length > 0
        ? Buffer.from(JSON.stringify(prefixAnswer(completionOf(answer), pushed, job.request)))
        : answer.body!;
    res.writeHead(200, { "content-type": "application/json; charset=utf-8", "content-length": body.length });
    res.end(body);
    return;
  }
  void busy(writeStream(res, answer, job, pushed));
}

const NONE: string[] = [];

function sessionKeyOf(call: Call, user: unknown): string {
  const named = call.req.headers["x-portico-session"];
  if (typeof named === "string" && named !== "") return named;
  return typeof user === "string" && user !== "" ? `chat:${user}` : "chat";
}

function traceHeaders(res: ServerResponse, { trace }: Job): void {
  if (trace.attempts === 0 && trace.channel === "") return;
  res.setHeader("x-portico-channel", headerSafe(trace.channel));
  res.setHeader("x-portico-model", headerSafe(trace.model));
  res.setHeader("x-portico-attempts", String(trace.attempts));
  if (trace.dropped.length > 0) res.setHeader("x-portico-dropped", headerSafe([...new Set(trace.dropped)].join(", ")));
}

function headerSafe(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : encodeURIComponent(text);
}

function writeStream(res: ServerResponse, answer: Answer, job: Job, pushed: string[]): Promise<void> {
  return new Promise((resolve) => {
    const json = answer.streamType === "json";
    res.writeHead(200, json ? { "content-type": "application/json; charset=utf-8" } : STREAM_HEADERS);
    const alive = json ? undefined : keepAlive(res);
    const source = pushed.length > 0 && !json ? prefixStream(answer.stream!, pushed, job.request) : answer.stream!;
    res.on("drain", () => source.resume());
    res.once("close", () => {
      alive?.stop();
      resolve();
    });
    source.start({
      write(bytes) {
        alive?.touch();
        return res.write(bytes);
      },
      end() {
        res.end();
      },
      fail(error) {
        // Half a JSON body cannot be ended well: the client must see that it is cut.
        if (json) res.destroy();
        else res.end(errorEvent(error));
      },
    });
  });
}

const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/**
 * `message:received` with the last user message. A hook may change the text, answer, or refuse. Returns what hooks pushed
 * on `event.messages`: it goes in front of the answer.
 */
async function offerMessage(events: Emitter, job: Job, res: ServerResponse): Promise<string[] | "answered"> {
  const at = lastUserIndex(job.request.messages);
  if (at === -1) return NONE;
  const content = textOf(job.request.messages[at]);
  const from = job.client.key;
  const result = await events.emit(
    "message:received",
    { content, source: "chat", model: job.request.model, ...(from !== undefined && { from }) },
    { sessionKey: job.sessionKey },
  );
  if (result.block !== undefined) {
    throw new PorticoError("blocked_by_hook", result.block === "" ? "A hook refused this message." : result.block, {
      type: "invalid_request_error",
    });
  }
  if (result.reply !== undefined) {
    answerAtOnce(events, job, res, [...result.messages, result.reply].join("\n\n"));
    return "answered";
  }
  if (result.context.content !== content) {
    job.request = withLastUserText(job.request, result.context.content);
    job.raw = undefined;
  }
  return result.messages;
}

function answerAtOnce(events: Emitter, job: Job, res: ServerResponse, text: string): void {
  const completion = textCompletion(
    { id: newCompletionId(), created: Math.floor(Date.now() / 1000), model: job.request.model },
    text,
  );
  if (!res.destroyed) {
    res.setHeader("x-portico-attempts", "0");
    if (job.stream) {
      res.writeHead(200, STREAM_HEADERS);
      res.end(completionAsStream(completion, job.includeUsage));
    } else {
      const body = Buffer.from(JSON.stringify(completion));
      res.writeHead(200, { "content-type": "application/json; charset=utf-8", "content-length": body.length });
      res.end(body);
    }
  }
  if (events.hasListeners("message:sent")) sendMessage(events, job, text);
}

function tell(events: Emitter, job: Job, report: Report, wanted: { reports: boolean; sent: boolean }): void {
  if (wanted.reports) reportResponse(events, job, report);
  if (wanted.sent && report.error === undefined && report.content !== undefined)
    sendMessage(events, job, report.content);
}

function sendMessage(events: Emitter, job: Job, content: string): void {
  const to = job.client.key;
  void events.emit(
    "message:sent",
    {
      content,
      source: "chat",
      model: job.trace.model === "" ? job.request.model : job.trace.model,
      ...(to !== undefined && { to }),
    },
    { sessionKey: job.sessionKey },
  );
}
