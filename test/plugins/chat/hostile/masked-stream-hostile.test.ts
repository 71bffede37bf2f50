/** A secret spread over the events of a stream, in every way of cutting and writing it. */
import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { MaskedStream } from "../../../../plugins/chat/secrets/masked-stream.ts";
import { SecretMask } from "../../../../plugins/chat/secrets/secret-mask.ts";
import { chunk, contentOf, DONE, data } from "../../../support/upstreams/upstream.ts";

const key = "sk-proj/A1b2+C3d4==x";
const mask = new SecretMask([key]);

function shown(events: readonly string[], cut = Number.POSITIVE_INFINITY): string {
  const stream = new MaskedStream(mask);
  const bytes = Buffer.from(events.join(""));
  const out: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += cut) out.push(stream.push(Buffer.from(bytes.subarray(at, at + cut))));
  out.push(stream.end() ?? Buffer.alloc(0));
  return Buffer.concat(out).toString();
}

const pieces = (text: string, size: number) => text.match(new RegExp(`[^]{1,${size}}`, "g"))!;
const asDeltas = (texts: readonly string[]) => [
  chunk({ role: "assistant", content: "" }),
  ...texts.map((content) => chunk({ content })),
  chunk({}, "stop"),
  DONE,
];

test("a key never goes out, however it is spread over events and reads", () => {
  for (const text of [key, `one sk-proj ${key}, and ${key}${key} sk-pro`, encodeURIComponent(key), `%${key}sk-`]) {
    const written = text === encodeURIComponent(key) ? text : key;
    for (const size of [1, 2, 3, 5, 8, 13, text.length]) {
      for (const cut of [7, Number.POSITIVE_INFINITY]) {
        const said = contentOf(shown(asDeltas(pieces(text, size)), cut));
        assert.not.ok(said.includes(written), `${size}, ${cut}: ${said}`);
        assert.ok(said.includes("********"), `${size}, ${cut}: ${said}`);
      }
    }
  }
});

test("everything else arrives as it was said, and byte for byte where nothing was held back", () => {
  const texts = [
    "Words",
    " and",
    " sks",
    " sk-",
    " sk-p",
    '\\u0041\\/ "q"\n',
    "sk-proj",
    "/A1b2",
    "?",
    "é",
    " sk-proj/A1b2+C3d4==",
  ];
  assert.is(contentOf(shown(asDeltas(texts))), texts.join(""));
  assert.is(contentOf(shown(asDeltas(texts), 5)), texts.join(""));
  const plain = asDeltas(["Hello", " words", " of", " nobody\n", "sk-", " x"]);
  assert.is(shown(plain), plain.join(""));
});

test("what is held back goes out before the finish reason, and before another field goes on", () => {
  const events = [
    chunk({ role: "assistant", content: "" }),
    chunk({ content: "sk-proj/A1b2" }),
    chunk({ tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: "" } }] }),
    ...pieces(`{"k":"${key}"}`, 3).map((piece) =>
      chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] }),
    ),
    chunk({}, "tool_calls"),
    DONE,
  ];
  const out = shown(events);
  assert.ok(out.indexOf("proj/A1b2") < out.indexOf('"name":"f"'), out);
  assert.not.ok(/C3d4/.test(out), out);
  assert.ok(out.indexOf("********") < out.indexOf('"finish_reason":"tool_calls"'), out);
});

test("events of another format, comments, and a key in any other field", () => {
  const anthropic = (text: string) =>
    `event: content_block_delta\n${data({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })}`;
  const out = shown(
    [": hello\n\n", ...pieces(key, 4).map(anthropic), data({ type: "content_block_stop", index: 0 })],
    9,
  );
  assert.ok(out.startsWith(": hello\n\nevent: content_block_delta\ndata: "), out);
  assert.not.ok(out.includes("C3d4"), out);
  assert.not.ok(shown([chunk({ content: "x" }, null, { model: `m ${key}`, note: [{ [key]: 1 }] })]).includes("C3d4"));
  assert.not.ok(shown([`: ${key}\n\n`, `data: not json ${key}\n\n`]).includes("C3d4"));
});

test("a text of one letter, or of backslashes, takes a time in proportion to its length", () => {
  for (const text of ["s", "sk-proj/", "\\", "%", "\\u00"]) {
    const took = [20_000, 320_000].map((length) => {
      const long = text.repeat(length / text.length);
      const from = process.cpuUsage().user;
      mask.text(long);
      shown(asDeltas(pieces(long.slice(0, 20_000), 5)));
      return process.cpuUsage().user - from;
    });
    assert.ok(took[1]! < took[0]! * 64 + 50_000, `${text}: ${took.join(", ")} µs`);
  }
});

test.run();
