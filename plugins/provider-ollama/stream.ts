import type { PorticoError } from "portico";
import {
  type ChunkWriter,
  createChunkWriter,
  createDecoder,
  createFastPath,
  createLineParser,
  cutShort,
  notJson,
  parseResponse,
  type StreamDecoder,
  type Target,
  type Usage,
  type WireRequest,
  toldText,
  laterUsage,
} from "portico/chat";
import type { ChatResponse } from "./response.ts";
import { failureIn, finishReason, readCall, readUsage } from "./response.ts";
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
    const response = parseResponse(line) as ChatResponse | undefined;
    if (response === undefined || response.error !== undefined) {
      failure = response === undefined ? notJson() : failureIn(line, 0);
      return;
    }
    writer ??= createChunkWriter({
      id: target.id,
      created: target.created,
      model: toldText(response.model, target.model),
      includeUsage,
    });
    onResponse(response, writer);
    if (isPlainText(response)) fastPath.learn();
  }

  function onResponse(response: ChatResponse, out: ChunkWriter): void {
    const { content, thinking, tool_calls: list = [] } = response.message ?? {};
    if (thinking) out.reasoning(thinking);
    if (content) out.text(content);
    for (const call of list) {
      const { id = "", function: fn } = readCall(call);
      out.toolCall(calls++, id, fn?.name ?? "", fn?.arguments);
    }
    if (response.done !== true) return;
    if (response.eval_count !== undefined) usage = laterUsage(usage, readUsage(response));
    finish = finishReason(response.done_reason, calls > 0);
    out.finish(finish);
    if (usage !== undefined) out.usage(usage);
    out.done();
  }

  const fastPath = createFastPath({
    key: "content",
    events: "lines",
    // Each line has its own time in front of the text.
    digitsBefore: true,
    parser: createLineParser(onLine),
    onText(bytes, start, end) {
      if (failure === undefined && finish === undefined) writer?.textSlice(bytes, start, end);
    },
  });
  return createDecoder({
    push: fastPath.push,
    flush: fastPath.end,
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

/** One text and nothing that ends the response. */
function isPlainText(response: ChatResponse): boolean {
  const { content, thinking, tool_calls } = response.message ?? {};
  return (
    typeof content === "string" && !thinking && tool_calls === undefined && response.done !== true
  );
}
