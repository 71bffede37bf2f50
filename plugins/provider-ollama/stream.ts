import {
  completeArguments,
  createLineParser,
  createPartDecoder,
  cutShort,
  notJson,
  type PartDecoder,
  parseResponse,
  PartWriter,
  type Target,
  readText,
  type WireRequest,
} from "portico/provider";
import type { ChatResponse } from "./response.ts";
import { failureIn, finishReason, readUsage } from "./response.ts";

/** Decodes one stream of JSON lines. */
export function decodeStream(_sent: WireRequest, target: Target): PartDecoder {
  const { id, created, model } = target;
  const out = new PartWriter({ id, created, model });

  function onLine(line: Buffer): void {
    if (out.finished) return;
    const response = parseResponse(line) as ChatResponse | undefined;
    if (response === undefined) throw notJson();
    if (response.error !== undefined) throw failureIn(line, 0);
    out.start({ model: readText(response.model, model) });
    out.begin(0);
    onResponse(response);
  }

  function onResponse(response: ChatResponse): void {
    const { content, thinking, tool_calls: list = [] } = response.message ?? {};
    if (thinking) out.reasoning(thinking);
    if (content) out.text(content);
    for (const { function: fn } of list) {
      // The upstream sends no ids of calls, and arguments as an object.
      out.calls().whole(undefined, fn?.name ?? "", completeArguments(fn?.arguments));
    }
    if (response.done !== true) return;
    if (response.eval_count !== undefined) out.tell(readUsage(response));
    out.finish(finishReason(response.done_reason, out.calls().any));
  }

  return createPartDecoder({
    out,
    reader: createLineParser(onLine),
    close() {
      throw cutShort();
    },
    done: () => out.finished,
  });
}
