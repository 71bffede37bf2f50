/** A simple translator: it parses each event and encodes it as one of OpenAI's. */
import { type Translation, translations } from "./proxy-translate.ts";

/** Translates an event to a chunk's delta, and to the finish reason if it is the last one. */
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

function encodeChunk(delta: object, finish: string | null): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
  return `data: ${JSON.stringify({ ...META, choices })}\n\n`;
}

function createTranslator(translate: Translate): (bytes: Buffer) => Buffer {
  const decoder = new TextDecoder();
  let incompleteLine = "";
  return (bytes) => {
    const lines = (incompleteLine + decoder.decode(bytes, { stream: true })).split("\n");
    incompleteLine = lines.pop() ?? "";
    let out = "";
    for (const line of lines) {
      if (!line.startsWith("data: ") || line.startsWith("data: [DONE]")) continue;
      const { delta, finish } = translate(JSON.parse(line.slice("data: ".length)));
      if (delta !== undefined) out += encodeChunk(delta, null);
      if (finish) out += `${encodeChunk({}, finish)}data: [DONE]\n\n`;
    }
    return Buffer.from(out);
  };
}

/** Returns the translation for the upstream's format. It translates requests as `translations` does. */
export function plainTranslation(format: string): Translation {
  const requestTranslation = translations[format] ?? {
    path: "/v1/chat/completions",
    request: (body: string) => body,
  };
  return { ...requestTranslation, createTranslator: () => createTranslator(EVENTS[format]!) };
}
