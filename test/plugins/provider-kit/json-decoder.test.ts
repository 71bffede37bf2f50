/** Streams of JSON objects, as events and as lines, cut anywhere. */
import * as assert from "uvu/assert";
import { createJsonDecoder } from "portico/models";
import { upstreamError } from "portico/provider";
import { test } from "../../support/suite.ts";
import { decodeCutAnywhere, makeTarget } from "../../support/target.ts";

interface Said {
  text?: string;
  call?: string;
  end?: string;
  error?: string;
}
const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };

function decoder(form: "events" | "lines", includeUsage = true) {
  return createJsonDecoder<Said>(makeTarget(), {
    form,
    includeUsage,
    read({ text, call, end, error }, out) {
      if (error !== undefined) throw upstreamError({ kind: "overloaded", message: error }, 0);
      if (text !== undefined) out.text(text);
      if (call !== undefined) out.toolCall(0, "call_1", call, "{}");
      if (end !== undefined) out.end(end, usage);
    },
  });
}
function bytesOf(form: "events" | "lines", items: readonly object[], newline = "\n"): Buffer {
  const each = (item: object) => {
    const json = JSON.stringify(item);
    return form === "lines"
      ? `${json}${newline}`
      : `: hm${newline}data: ${json}${newline}${newline}`;
  };
  return Buffer.from(items.map(each).join(""));
}

for (const form of ["events", "lines"] as const) {
  for (const newline of ["\n", "\r\n"]) {
    test(`${form} with ${JSON.stringify(newline)}`, () => {
      const items = [
        { text: "Hé" },
        { text: " 😀" },
        { call: "now" },
        { end: "tool_calls" },
        { text: "never" },
      ];
      const chunks = decodeCutAnywhere(() => decoder(form), bytesOf(form, items, newline));
      const deltas = chunks.flatMap(({ choices }) => choices);
      assert.is(deltas.map(({ delta }) => delta.content ?? "").join(""), "Hé 😀");
      assert.is(
        deltas.find(({ delta }) => delta.tool_calls)?.delta.tool_calls?.[0]?.function?.name,
        "now",
      );
      assert.equal(deltas.map((choice) => choice.finish_reason).filter(Boolean), ["tool_calls"]);
      assert.equal(chunks.at(-1)?.usage, usage);
    });
  }

  test(`${form}: what ends a stream badly`, () => {
    for (const [end, expected] of [
      [{ error: "busy" }, /busy/],
      ["x", /not JSON/],
      [{}, /ended before it was complete/],
    ] as const) {
      const own = decoder(form);
      const text = own.push(Buffer.concat([bytesOf(form, [{ text: "a" }]), rest(form, end)]));
      assert.match(String(text), '"content":"a"');
      assert.throws(() => own.end(), expected);
    }
  });
}

function rest(form: "events" | "lines", end: object | string): Buffer {
  return typeof end === "object"
    ? bytesOf(form, [end])
    : Buffer.from(form === "lines" ? "x\n" : "data: x\n\n");
}

test("a bug in reading is thrown unchanged: the reader of the stream says whose it is", () => {
  const own = createJsonDecoder<Said>(makeTarget(), {
    form: "lines",
    includeUsage: false,
    read: ({ text }) => void text!.length,
  });
  assert.throws(
    () => own.push(Buffer.from('{"a":1}\n')),
    (error: unknown) => error instanceof TypeError,
  );
});

test.run();
