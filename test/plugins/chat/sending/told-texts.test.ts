/** Handlers see the same of a stream whether its reader tells where texts stand or they are looked for again. */
import * as assert from "uvu/assert";
import type { TextSpan } from "../../../../plugins/chat/kit/stream/text-spans.ts";
import { textOf } from "../../../../plugins/chat/kit/stream/literal.ts";
import { OpenAiStream } from "../../../../plugins/chat/openai/stream.ts";
import { MaskedStream } from "../../../../plugins/chat/secrets/masked-stream.ts";
import { SecretMask } from "../../../../plugins/chat/secrets/secret-mask.ts";
import { ChunkEditor } from "../../../../plugins/chat/sending/chunk-editor.ts";
import { suite } from "../../../support/suite.ts";
import { chunk, contentOf, DONE } from "../../../support/upstreams/upstream.ts";

const test = suite("told texts");

const key = "sk-proj-A1b2C3d4";
const secrets = new SecretMask([key]);

interface Part {
  bytes: Buffer;
  texts: readonly TextSpan[] | undefined;
}

/** What a reader gives of a stream that comes in reads of this size. */
function read(text: string, cut: number, masked: boolean): Part[] {
  const options = {
    id: "chatcmpl-x",
    created: 1,
    model: "m",
    includeUsage: false,
    tellTexts: true,
  };
  const stream = new OpenAiStream(options, masked ? new MaskedStream(secrets) : undefined);
  const whole = Buffer.from(text);
  const parts: Part[] = [];
  for (let at = 0; at < whole.length; at += cut) {
    const bytes = stream.push(whole.subarray(at, at + cut));
    if (bytes !== undefined) parts.push({ bytes, texts: stream.takeTexts() });
  }
  const last = stream.done ? undefined : stream.end();
  return last === undefined ? parts : [...parts, { bytes: last, texts: undefined }];
}

async function edited(parts: readonly Part[], change: (text: string, final: boolean) => string) {
  const calls: [text: string, final: boolean, of: number | string][] = [];
  const editor = new ChunkEditor(async (text, final, of) => {
    calls.push([text, final, of]);
    return change(text, final);
  });
  const out: Buffer[] = [];
  for (const { bytes, texts } of parts) out.push(await editor.push(bytes, texts));
  return { calls, out: Buffer.concat([...out, await editor.end()]).toString(), text: editor.text };
}

const handlers: Record<string, () => (text: string, final: boolean) => string> = {
  "leaves them": () => (text) => text,
  "changes them": () => (text) => text.toUpperCase(),
  "drops them": () => () => "",
  "holds them back": () => {
    let held = "";
    return (text, final) => {
      held += text;
      return final ? held : "";
    };
  },
};

/** A generator of numbers below `n`, the same in each run. */
function dice(seed: number): (n: number) => number {
  let state = seed;
  return (n) => (state = (state * 1103515245 + 12345) % 2147483648) % n;
}

const words = [
  " word",
  "",
  "é😀",
  'a"b\\',
  "\n\n",
  key.slice(0, 9),
  key.slice(9),
  "long ".repeat(20),
];
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

function streamOf(seed: number): string {
  const roll = dice(seed);
  const word = () => words[roll(words.length)]!;
  const others = [
    () => ": a comment\n\n",
    () => chunk({ reasoning_content: word() }),
    () =>
      chunk({
        tool_calls: [
          { index: 0, id: "c", type: "function", function: { name: "f", arguments: "" } },
        ],
      }),
    () => chunk({ tool_calls: [{ index: 0, function: { arguments: word() } }] }),
    () => chunk({ content: word() }, null, { usage }),
    () => chunk({ content: word() }).replace('"index":0', '"index":1'),
    () => chunk({ content: word(), refusal: null }),
  ];
  const foreign = roll(3) === 0;
  const events = [chunk({ role: "assistant", content: roll(2) === 0 ? "" : word() })];
  for (let i = roll(60); i > 0; i--)
    events.push(roll(6) === 0 ? others[roll(others.length)]!() : chunk({ content: word() }));
  events.push(chunk(roll(3) === 0 ? { content: word() } : {}, "stop"), DONE);
  const text = events.join("");
  return foreign ? text.replaceAll('"id":"chatcmpl-', '"id":"foreign-') : text;
}

for (const [name, handler] of Object.entries(handlers)) {
  test(`a handler that ${name} is called alike, and the same goes out`, async () => {
    for (let seed = 1; seed <= 25; seed++) {
      const text = streamOf(seed);
      for (const cut of [text.length, 1000, 97]) {
        for (const masked of [false, true]) {
          const parts = read(text, cut, masked);
          const untold = parts.map(({ bytes }) => ({ bytes, texts: undefined }));
          const ours = await edited(parts, handler());
          assert.equal(ours, await edited(untold, handler()), `${seed}, ${cut}, ${masked}`);
          const came = Buffer.concat(parts.map(({ bytes }) => bytes)).toString();
          if (name === "leaves them") assert.is(ours.out, came);
          if (name === "changes them")
            assert.is(contentOf(ours.out), contentOf(came).toUpperCase());
        }
      }
    }
  });
}

test("each span has the texts of its events, and all common texts are told", () => {
  let told = 0;
  for (let seed = 1; seed <= 25; seed++) {
    for (const masked of [false, true]) {
      for (const { bytes, texts } of read(streamOf(seed), 1000, masked)) {
        for (const { from, end, literal } of texts ?? []) {
          assert.is(contentOf(bytes.toString("utf8", from, end)), textOf(literal));
          told++;
        }
      }
    }
  }
  assert.ok(told > 100);
});

test("a stream whose lines end otherwise is not told of", () => {
  const crlf = streamOf(2).replaceAll("\n", "\r\n");
  for (const { texts } of read(crlf, crlf.length, false)) assert.is(texts, undefined);
});

test("texts of more than fits in between are whole", () => {
  const long = "é".repeat(100_000);
  const text = [
    chunk({ role: "assistant", content: "" }),
    ...["a", "b", long, "c", long].map((content) => chunk({ content })),
  ];
  const [{ texts } = { texts: undefined }] = read(text.join(""), 10_000_000, false);
  assert.equal(
    texts?.map(({ literal }) => literal.length),
    [`b${long}c${long}`.length],
  );
});

test.run();
