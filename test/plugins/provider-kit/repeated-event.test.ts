/** The shortcut for events that differ in their text gives what parsing gives. */
import * as assert from "uvu/assert";
import { createOpenAiDecoder, type StreamPart } from "portico/provider";
import { suite } from "../../support/suite.ts";
import { chunk, DONE } from "../../support/upstreams/upstream.ts";

const test = suite("events that repeat");

const head = { id: "chatcmpl-x", created: 1, model: "m" };

function read(events: readonly string[], shortcut: boolean): StreamPart[] {
  const decoder = createOpenAiDecoder(head, { shortcut });
  return events.flatMap((event) => decoder.push(Buffer.from(event)));
}

/** Without the events themselves, but with what they would be written as. */
const plain = (parts: readonly StreamPart[]) =>
  parts.map(({ source, ...part }) => ({ ...part, json: source?.json }));

const words = [
  "a",
  "",
  "é😀",
  'a"b',
  "\\",
  "\n",
  "\u0001",
  '","x":"',
  '"content":"',
  "data: [DONE]",
  "b",
];
const fingerprint = { system_fingerprint: "fp_1" };
const streams: Record<string, string[]> = {
  "texts of every kind": words.map((content) => chunk({ content })),
  "members that nobody knows": words.map((content) => chunk({ content }, null, fingerprint)),
  "members that change": words.map((content, i) => chunk({ content }, null, { seed: i })),
  "another choice in between": words.map((content, index) =>
    chunk({}, null, { choices: [{ index: index % 2, delta: { content }, finish_reason: null }] }),
  ),
  "reasoning, calls and text in turn": words.flatMap((content, i) => [
    chunk({ content }),
    chunk({ reasoning_content: content }),
    chunk({ tool_calls: [{ index: i, id: `c${i}`, function: { name: "f", arguments: "{}" } }] }),
  ]),
  "logprobs with some of them": words.map((content, i) =>
    chunk({}, null, {
      choices: [
        {
          index: 0,
          delta: { content },
          finish_reason: null,
          logprobs: i % 2 ? { content: [] } : null,
        },
      ],
    }),
  ),
  "texts behind the end": [
    ...words.map((content) => chunk({ content })),
    chunk({}, "stop"),
    ...words.map((content) => chunk({ content })),
  ],
};

for (const [name, events] of Object.entries(streams)) {
  test(name, () => {
    const all = [chunk({ role: "assistant", content: "" }), ...events, DONE];
    assert.equal(plain(read(all, true)), plain(read(all, false)));
  });
}

test("an error event that looks like a text is an error", () => {
  for (const shortcut of [true, false]) {
    const texts = ["a", "b"].map((content) => chunk({ content }));
    assert.throws(() => read([...texts, `event: error\n${texts[0]}`], shortcut));
  }
});

test.run();
