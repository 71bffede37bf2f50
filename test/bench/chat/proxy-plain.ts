/** A translator as one would write it in an afternoon: each event is parsed, and written as one of OpenAI's. */
import { type Translation, translations } from "./proxy-translate.ts";

/** The chunk of an event, and what ends the stream behind it. */
type Translate = (event: any) => { delta?: object; finish?: string };

const EVENTS: Record<string, Translate> = {
  openai({ choices }) {
    const [{ delta, finish_reason: finish }] = choices;
    return { delta, finish };
  },
  anthropic({ type, delta }) {
    if (type === "content_block_delta") return { delta: { content: delta.text } };
    if (type === "message_start") return { delta: { role: "assistant", content: "" } };
    return type === "message_delta" ? { finish: "stop" } : {};
  },
  gemini({ candidates: [candidate] }) {
    const text = candidate.content.parts.map((part: { text: string }) => part.text).join("");
    return { delta: { content: text }, finish: candidate.finishReason && "stop" };
  },
};

const META = {
  id: "chatcmpl-bench0123456789",
  object: "chat.completion.chunk",
  created: 1790000000,
  model: "bench-model",
};

function chunkOf(delta: object, finish: string | null): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
  return `data: ${JSON.stringify({ ...META, choices })}\n\n`;
}

function reading(translate: Translate): (bytes: Buffer) => Buffer {
  const decoder = new TextDecoder();
  let held = "";
  return (bytes) => {
    const lines = (held + decoder.decode(bytes, { stream: true })).split("\n");
    held = lines.pop() ?? "";
    let out = "";
    for (const line of lines) {
      if (!line.startsWith("data: ") || line.startsWith("data: [DONE]")) continue;
      const { delta, finish } = translate(JSON.parse(line.slice("data: ".length)));
      if (delta !== undefined) out += chunkOf(delta, null);
      if (finish) out += `${chunkOf({}, finish)}data: [DONE]\n\n`;
    }
    return Buffer.from(out);
  };
}

/** By the upstream's format; the request is translated as the other proxy does it. */
export function plainTranslation(format: string): Translation {
  const own = translations[format] ?? {
    path: "/v1/chat/completions",
    request: (body: string) => body,
  };
  return { ...own, reading: () => reading(EVENTS[format]!) };
}
