import type { PorticoError } from "portico";
import {
  type ChunkWriter,
  clientCallId,
  createChunkWriter,
  createDecoder,
  createSseParser,
  createFastPath,
  errorInResponse,
  parseResponse,
  type StreamDecoder,
  type Target,
  upstreamError,
  type Usage,
  type WireRequest,
  toldIndex,
  toldText,
  laterUsage,
} from "portico/chat";
import type { ChatResponse, Message } from "./response.ts";
import { failureIn, finishReason, readArguments, readContent, readUsage } from "./response.ts";
import { readProblem } from "./problem.ts";
import type { Sent } from "./request.ts";

/** The calls of one choice. */
interface Calls {
  /** Upstream's index or id → ours. */
  known: Map<string, number>;
  /** By our index: whether arguments followed. */
  fragments: boolean[];
}

/** Translates one stream of Mistral's chunks. */
export function decodeStream(sent: WireRequest, target: Target): StreamDecoder {
  const { includeUsage, names } = sent.state as Sent;
  const choices = new Map<number, Calls>();
  const finished = new Set<number>();
  let writer: ChunkWriter | undefined;
  let usage: Usage | undefined;
  let finish: string | undefined;
  let done = false;
  let failure: PorticoError | undefined;

  function onEvent(data: Buffer): void {
    if (failure !== undefined || done) return;
    if (data.length < 16 && data.toString("latin1").trim() === "[DONE]") {
      close();
      return;
    }
    const event = parseResponse(data) as ChatResponse | undefined;
    if (!Array.isArray(event?.choices)) {
      if (
        event === undefined ||
        event.error !== undefined ||
        event.object === "error" ||
        "message" in event
      ) {
        failure = errorInResponse(readProblem(0, data));
      }
      return;
    }
    failure = failureIn(event);
    if (failure !== undefined) return;
    writer ??= createChunkWriter({
      id: event.id ? `chatcmpl-${event.id}` : target.id,
      created: target.created,
      model: toldText(event.model, target.model),
      includeUsage,
    });
    if (event.usage) usage = laterUsage(usage, readUsage(event.usage));
    for (const [i, choice] of event.choices.entries()) {
      onDelta(choice.delta ?? {}, toldIndex(choice.index, i), writer);
      if (choice.finish_reason) onFinish(choice.finish_reason, toldIndex(choice.index, i), writer);
    }
    const only = event.choices.length === 1 ? event.choices[0] : undefined;
    const plain =
      typeof only?.delta?.content === "string" && !only.delta.tool_calls && !only.finish_reason;
    if (plain && (only.index ?? 0) === 0) fastPath.learn();
  }

  function onDelta(delta: Message, choice: number, out: ChunkWriter): void {
    out.role(choice);
    callsOf(choice);
    const { text, reasoning } = readContent(delta.content);
    if (reasoning !== "") out.reasoning(reasoning, choice);
    if (text !== "") out.text(text, choice);
    for (const call of delta.tool_calls ?? []) {
      const calls = callsOf(choice);
      const id = call.id === "null" || call.id === "" ? undefined : call.id;
      const { name = "", arguments: given } = call.function ?? {};
      const args = readArguments(given);
      let index = id === undefined ? undefined : calls.known.get(id);
      // A call without a name goes on with the one before it.
      const begins = name !== "" && (id !== undefined || call.index === undefined);
      if (!begins) index ??= calls.known.get(`#${call.index ?? calls.fragments.length - 1}`);
      if (index === undefined) {
        index = calls.fragments.length;
        calls.known.set(`#${call.index ?? index}`, index);
        if (id !== undefined) calls.known.set(id, index);
        calls.fragments.push(args.trim() !== "");
        out.toolCall(index, clientCallId(id), names.original(name), args, choice);
      } else if (args !== "") {
        calls.fragments[index] ||= args.trim() !== "";
        out.toolArguments(index, args, choice);
      }
    }
  }

  function onFinish(reason: string, choice: number, out: ChunkWriter): void {
    const calls = callsOf(choice);
    if (finished.has(choice)) return;
    finished.add(choice);
    for (const [index, fragments] of calls.fragments.entries()) {
      if (!fragments) out.toolArguments(index, "{}", choice);
    }
    const word = finishReason(reason, calls.fragments.length > 0);
    out.finish(word, choice);
    if (choice === 0 || finish === undefined) finish = word;
  }

  function callsOf(choice: number): Calls {
    const calls = choices.get(choice) ?? { known: new Map(), fragments: [] };
    choices.set(choice, calls);
    return calls;
  }

  /** A choice that was never finished ends with what fits; there is no response where nothing came. */
  function close(): void {
    if (writer === undefined) {
      failure = upstreamError(
        { kind: "upstream", message: "The upstream's response is empty." },
        0,
      );
      return;
    }
    for (const choice of choices.keys())
      if (!finished.has(choice)) onFinish("stop", choice, writer);
    if (usage !== undefined) writer.usage(usage);
    writer.done();
    done = true;
  }

  const fastPath = createFastPath({
    key: "content",
    events: "blocks",
    parser: createSseParser(onEvent),
    onText(bytes, start, end) {
      if (failure === undefined && !done) writer?.textSlice(bytes, start, end);
    },
  });
  return createDecoder({
    push: fastPath.push,
    flush: fastPath.end,
    close,
    take: () => writer?.take(),
    usage: () => usage,
    finishReason: () => finish,
    failure: () => failure,
    done: () => done,
  });
}
