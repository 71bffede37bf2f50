/** Ways in that were written against `portico/chat`, whose translators take chunks in OpenAI's form. */
import { ChunkEncoder, newCompletionId, type StreamEncoder } from "portico/provider";
import type { StreamTranslator } from "../kit/types.ts";

export function adaptedTranslator(translator: StreamTranslator): StreamEncoder {
  let out = "";
  const take = (): string => {
    const text = out;
    out = "";
    return text;
  };
  const chunks = new ChunkEncoder(
    {
      id: newCompletionId(),
      created: Math.floor(Date.now() / 1000),
      model: "",
      includeUsage: true,
    },
    {
      chunk: (chunk) => {
        out += translator.chunk(chunk);
      },
      event: ({ value }) => {
        out += translator.chunk(value as unknown as Parameters<StreamTranslator["chunk"]>[0]);
      },
      comment() {},
    },
  );
  const { error } = translator;
  return {
    write(parts) {
      chunks.write(parts);
      return take();
    },
    end() {
      chunks.end();
      const rest = take();
      const last = translator.end();
      return typeof last === "string" ? rest + last : last.then((text) => rest + text);
    },
    fail: (failure) => translator.fail(failure),
    ...(error !== undefined && { error: (failure) => error(failure) }),
  };
}
