/** A secret spread over the events of a stream, in every way of cutting and writing it. */
import { randomBytes } from "node:crypto";
import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { createOpenAiDecoder, type PartDecoder, readOpenAiProblem } from "portico/provider";
import { hiddenBody, MaskedBytes, MaskedEvents, PartMask, SecretMask } from "portico/secrets";
import { StreamRecoder } from "../../../support/recoded.ts";
import { assertLinear, repeated } from "../../../support/growth.ts";
import { chunk, contentOf, DONE, data } from "../../../support/upstreams/upstream.ts";

const key = "sk-proj/A1b2+C3d4==x";
const mask = new SecretMask([key]);

const alone = () => new MaskedEvents(mask);
/** As it works for the streams of models. */
const reading = () => {
  const head = { id: "chatcmpl-x", created: 1, model: "m" };
  const decoder = createOpenAiDecoder(head);
  const parts = new PartMask(mask);
  const masked: PartDecoder = {
    push(bytes) {
      const read = parts.push(decoder.push(bytes));
      return decoder.done ? [...read, ...parts.end()] : read;
    },
    end: () => [...parts.push(decoder.end()), ...parts.end()],
    get failure() {
      return decoder.failure;
    },
    get done() {
      return decoder.done;
    },
    get finished() {
      return decoder.finished;
    },
  };
  const stream = new StreamRecoder({ ...head, includeUsage: false }, masked);
  return {
    push: (bytes: Buffer) => stream.push(bytes) ?? Buffer.alloc(0),
    end: () => (stream.done ? undefined : stream.end()),
  };
};

function maskEvents(
  events: readonly string[],
  cut = Number.POSITIVE_INFINITY,
  through: typeof reading = alone,
): string {
  const stream = through();
  const bytes = Buffer.from(events.join(""));
  const out: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += cut)
    out.push(stream.push(Buffer.from(bytes.subarray(at, at + cut))));
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

test("a key is never sent to the client, regardless of how it is split over events and reads", () => {
  for (const text of [
    key,
    `one sk-proj ${key}, and ${key}${key} sk-pro`,
    encodeURIComponent(key),
    `%${key}sk-`,
  ]) {
    const written = text === encodeURIComponent(key) ? text : key;
    for (const size of [1, 2, 3, 5, 8, 13, text.length]) {
      for (const cut of [7, Number.POSITIVE_INFINITY]) {
        for (const through of [alone, reading]) {
          const content = contentOf(maskEvents(asDeltas(pieces(text, size)), cut, through));
          assert.not.ok(content.includes(written), `${size}, ${cut}: ${content}`);
          assert.ok(content.includes("********"), `${size}, ${cut}: ${content}`);
        }
      }
    }
  }
});

test("all other texts arrive unchanged, and byte for byte if nothing was held back", () => {
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
  assert.is(contentOf(maskEvents(asDeltas(texts))), texts.join(""));
  assert.is(contentOf(maskEvents(asDeltas(texts), 5)), texts.join(""));
  assert.is(contentOf(maskEvents(asDeltas(texts), 5, reading)), texts.join(""));
  const plain = asDeltas(["Hello", " words", " of", " nobody\n", "sk-", " x"]);
  assert.is(maskEvents(plain), plain.join(""));
  assert.is(maskEvents(plain, 50, reading), plain.join(""));
});

test("text that was held back is sent before the finish reason and before the next field", () => {
  const events = [
    chunk({ role: "assistant", content: "" }),
    chunk({ content: "sk-pro" }),
    chunk({ tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: "" } }] }),
    ...pieces(`{"k":"${key}"}`, 3).map((piece) =>
      chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] }),
    ),
    chunk({}, "tool_calls"),
    DONE,
  ];
  const out = maskEvents(events);
  assert.ok(out.indexOf('"pro"') < out.indexOf('"name":"f"'), out);
  assert.not.ok(/C3d4/.test(out), out);
  assert.ok(out.indexOf("********") < out.indexOf('"finish_reason":"tool_calls"'), out);
});

test("events of another format, comments, and a key in any other field", () => {
  const anthropic = (text: string) =>
    `event: content_block_delta\n${data({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })}`;
  const out = maskEvents(
    [
      ": hello\n\n",
      ...pieces(key, 4).map(anthropic),
      data({ type: "content_block_stop", index: 0 }),
    ],
    9,
  );
  assert.ok(out.startsWith(": hello\n\nevent: content_block_delta\ndata: "), out);
  assert.not.ok(out.includes("C3d4"), out);
  assert.not.ok(
    maskEvents([
      chunk({ content: "x" }, null, { model: `m ${key}`, note: [{ [key]: 1 }] }),
    ]).includes("C3d4"),
  );
  assert.not.ok(maskEvents([`: ${key}\n\n`, `data: not json ${key}\n\n`]).includes("C3d4"));
});

const choice = (index: number, delta: object, more: object = {}) =>
  data({
    id: "c",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index, delta, ...more }],
  });

test("a key stays masked with anything between its pieces: comments, pings, empty deltas, other choices and fields", () => {
  const letters = pieces(key, 1);
  const between: Record<string, string> = {
    comment: ": PROCESSING\n\n",
    "empty delta": chunk({}),
    "empty text": chunk({ content: "" }),
    "delta without text": chunk({ role: "assistant", content: null }),
    "no choices": data({ id: "c", choices: [], usage: null }),
    "other choice": choice(1, { content: "z" }),
    "end of the other choice": choice(1, {}, { finish_reason: "stop" }),
    "empty other field": chunk({ reasoning_content: "" }),
    ping: `event: ping\n${data({ type: "ping" })}`,
  };
  const ofChoice = (index: number, out: string) =>
    contentOf(
      out
        .split("\n\n")
        .filter((event) => event.includes(`"index":${index}`))
        .join("\n\n"),
    );
  for (const through of [alone, reading]) {
    for (const [name, event] of Object.entries(between)) {
      const events = [
        ...letters.map((content) => choice(0, { content }) + event),
        chunk({}, "stop"),
        DONE,
      ];
      assert.is(ofChoice(0, maskEvents(events, 99, through)), "sk-********", name);
    }
    const swapped = letters.flatMap((content) => [choice(0, { content }), choice(1, { content })]);
    const out = maskEvents([...swapped, DONE], 99, through);
    for (const index of [0, 1]) assert.is(ofChoice(index, out), "sk-********", `choice ${index}`);
  }
  for (const field of ["reasoning_content", "refusal"]) {
    for (const size of [1, 2, 5, 12]) {
      const events = pieces(key, size).flatMap((content) => [
        chunk({ content }),
        chunk({ [field]: "z" }),
      ]);
      const out = maskEvents([...events, chunk({}, "stop"), DONE], 99);
      assert.ok(/^sk-p?r?o?\*{8}$/.test(contentOf(out)), `${field} ${size}: ${contentOf(out)}`);
      const begun = maskEvents([
        chunk({ content: key.slice(0, 12) }),
        chunk({ [field]: "z" }),
        chunk({}, "stop"),
        DONE,
      ]);
      assert.is(contentOf(begun), key.slice(0, 12));
    }
  }
  const blocks = letters.map(
    (text) => data({ type: "ping" }) + data({ index: 0, delta: { type: "text_delta", text } }),
  );
  assert.not.ok(maskEvents(blocks).includes("C3d4"));
});

test("members before and after the text of an event are checked in each event", () => {
  const noted = (note: string) => chunk({ content: "x" }, null, { note });
  assert.not.ok(maskEvents([noted("y".repeat(key.length)), noted(key)]).includes("C3d4"));
  const noteEvent = (note: string) =>
    data({ note, choices: [{ index: 0, delta: { content: "x" } }] });
  assert.not.ok(maskEvents([noteEvent("y".repeat(key.length)), noteEvent(key)]).includes("C3d4"));
});

test("a key is masked in deltas of other routes, and with escaped slashes", () => {
  const forms: Record<string, (text: string) => string> = {
    completions: (text) => data({ object: "text_completion", choices: [{ index: 0, text }] }),
    transcriptions: (delta) => data({ type: "transcript.text.delta", delta }),
    chat: (content) => chunk({ content }),
  };
  for (const [name, form] of Object.entries(forms)) {
    for (const written of [key, key.replaceAll("/", "\\/")]) {
      const out = maskEvents([...pieces(`a ${written}!`, 1).map(form), DONE]);
      const text = [...out.matchAll(/"(?:text|delta|content)":"([^"]*)"/g)]
        .map(([, text]) => text)
        .join("");
      assert.is(text, "a sk-********!", name);
    }
  }
});

test("a body of arbitrary bytes keeps its length and loses the key, regardless of its chunks", () => {
  const around = Buffer.from([0, 255, 128, 115, 107, 45]);
  for (const written of [key, encodeURIComponent(key)]) {
    const input = Buffer.concat([
      around,
      Buffer.from(`sk-sk-${written}sk-proj`),
      around,
      Buffer.from("sk-proj/A1"),
    ]);
    for (const cut of [1, 2, 7, input.length]) {
      const masked = new MaskedBytes(mask);
      const out: Buffer[] = [];
      for (let at = 0; at < input.length; at += cut)
        out.push(masked.push(input.subarray(at, at + cut)));
      const all = Buffer.concat([...out, masked.end() ?? Buffer.alloc(0)]);
      const expected = input.toString("latin1").replace(written, "*".repeat(written.length));
      assert.is(all.toString("latin1"), expected, `${written} ${cut}`);
      assert.ok(input.includes(written), "the bytes that came are left alone");
    }
  }
});

test("an event of any size is passed on without the key, in chunks of any size", () => {
  const filler = "x".repeat(1_500_000);
  for (const end of ["\n\n", "\r\n\r\n"]) {
    const large = `data: {"b64":"${filler}${key}"}${end}`;
    for (const cut of [1021, 65_536, large.length]) {
      const out = maskEvents([chunk({ content: "a" }), large, chunk({ content: key }), DONE], cut);
      assert.not.ok(out.includes("C3d4"), `${cut}`);
      assert.ok(out.includes(`${filler}***`) && out.endsWith(DONE), `${cut}`);
    }
  }
});

test("the time for many possible beginnings of a key is proportional to their size", () => {
  const begun = key.slice(0, 9);
  const times = <T>(n: number, make: (i: number) => T) =>
    Array.from({ length: n }, (_, i) => make(i));
  const shapes: Record<string, (n: number) => string> = {
    "fields of one event": (n) => chunk(Object.fromEntries(times(n, (i) => [`f${i}`, begun]))),
    choices: (n) => times(n, (i) => choice(i, { content: begun })).join(""),
    calls: (n) =>
      times(n, (index) =>
        chunk({ tool_calls: [{ index, function: { name: "f", arguments: begun } }] }),
      ).join(""),
  };
  for (const [what, make] of Object.entries(shapes)) {
    assertLinear(what, 300, make, (text) => maskEvents([text]));
    assert.not.ok(maskEvents([make(300), make(300)]).includes("C3d4"));
  }
  assertLinear(
    "one event in pieces",
    20_000,
    (n) => chunk({ content: "\\".repeat(n) }),
    (text) => maskEvents([text], 100),
  );
});

test("many tokens of thousands of characters are masked in every encoding", () => {
  const tokens = Array.from(
    { length: 64 },
    (_, i) => `eyJ${i}.${randomBytes(1500).toString("base64url")}`,
  );
  const long = new SecretMask(tokens);
  for (const token of [tokens[0]!, tokens[63]!]) {
    const written = [
      token,
      encodeURIComponent(token),
      Buffer.from(`x:${token}`).toString("base64"),
      `&#101;${token.slice(1)}`,
    ];
    for (const form of written)
      assert.not.ok(long.text(`bad token ${form}.`).includes(form.slice(40, -10)));
    assert.is(long.text(`bad token ${token}.`), "bad token ********.");
    const bytes = new MaskedBytes(long);
    const out = Buffer.concat([
      bytes.push(Buffer.from(`a ${token} b`)),
      bytes.end() ?? Buffer.alloc(0),
    ]).toString();
    assert.is(out, `a ${"*".repeat(token.length)} b`);
  }
});

test("the time for a text of one letter or of backslashes is proportional to its length", () => {
  for (const text of ["s", "sk-proj/", "\\", "%", "\\u00", "&#0", "&amp;#x0", "c2st"]) {
    const took = [20_000, 320_000].map((length) => {
      const long = text.repeat(length / text.length);
      const from = process.cpuUsage().user;
      mask.text(long);
      maskEvents(asDeltas(pieces(long.slice(0, 20_000), 5)));
      return process.cpuUsage().user - from;
    });
    assert.ok(took[1]! < took[0]! * 64 + 50_000, `${text}: ${took.join(", ")} µs`);
  }
});

const TOKENS = `< > [ ] { } " ' \\ % & # + a <title <title> data: {"a":1} {"a": "a":[ \\u00 %25 &# &amp; &amp;#x sk- sk-proj/ \\u{0 c C 63 ["",`;

test("error bodies of any kind are read in time proportional to their size", () => {
  const masks = new SecretMask([key, "c".repeat(3000)]);
  for (const token of [
    ...TOKENS.split(" "),
    " ",
    "\n",
    '" + "',
    ": \n",
    "data: {}\n",
    "{\n",
    "data: [\n",
    "[]\n",
    '{"a":1}\n',
    "\0",
    key.slice(0, -1),
  ])
    for (const start of ["", "<", '{"error":{"message":"'])
      assertLinear(`${start}${token}…`, 8_000, repeated(token, start), (text) =>
        readOpenAiProblem(400, hiddenBody(Buffer.from(text), masks)),
      );
});

test.run();
