import type { PorticoError } from "portico";
import {
  type ChunkWriter,
  createChunkWriter,
  createDecoder,
  createFastPath,
  cutShort,
  notJson,
  parseObject,
  type StreamDecoder,
  type Target,
  type Usage,
  type WireRequest,
} from "portico/chat";
import type { Answer } from "./answer.ts";
import { failureIn, finishReason, readCall, readUsage } from "./answer.ts";
import { splitLines } from "./lines.ts";
import type { Sent } from "./request.ts";

/** Translates one stream of JSON lines. */
export function decodeStream(sent: WireRequest, target: Target): StreamDecoder {
  const { includeUsage } = sent.state as Sent;
  let writer: ChunkWriter | undefined;
  let calls = 0;
  let usage: Usage | undefined;
  let finish: string | undefined;
  let failure: PorticoError | undefined;

  function onLine(line: Buffer): void {
    if (failure !== undefined || finish !== undefined) return;
    const answer = parseObject(line) as Answer | undefined;
    if (answer === undefined || answer.error !== undefined) {
      failure = answer === undefined ? notJson() : failureIn(line, 0);
      return;
    }
    writer ??= createChunkWriter({
      id: target.id,
      created: target.created,
      model: answer.model ?? target.model,
      includeUsage,
    });
    onAnswer(answer, writer);
    if (isPlainText(answer)) lane.learn();
  }

  function onAnswer(answer: Answer, out: ChunkWriter): void {
    const { content, thinking, tool_calls: list = [] } = answer.message ?? {};
    if (thinking) out.reasoning(thinking);
    if (content) out.text(content);
    for (const call of list) {
      const { id = "", function: fn } = readCall(call);
      out.toolCall(calls++, id, fn?.name ?? "", fn?.arguments);
    }
    if (answer.done !== true) return;
    if (answer.eval_count !== undefined) usage = readUsage(answer);
    finish = finishReason(answer.done_reason, calls > 0);
    out.finish(finish);
    if (usage !== undefined) out.usage(usage);
    out.done();
  }

  const lane = createFastPath({
    key: "content",
    events: "lines",
    // Each line has its own time in front of the text.
    digitsBefore: true,
    parser: splitLines(onLine),
    onText(bytes, start, end) {
      if (failure === undefined && finish === undefined) writer?.textSlice(bytes, start, end);
    },
  });
  return createDecoder({
    push: lane.push,
    flush: lane.end,
    close() {
      throw cutShort();
    },
    take: () => writer?.take(),
    usage: () => usage,
    finishReason: () => finish,
    failure: () => failure,
    done: () => finish !== undefined,
  });
}

/** One text and nothing that ends the answer. */
function isPlainText(answer: Answer): boolean {
  const { content, thinking, tool_calls } = answer.message ?? {};
  return typeof content === "string" && !thinking && tool_calls === undefined && answer.done !== true;
}
