import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { createSseParser } from "../../../../plugins/provider-kit/stream/sse-parser.ts";
import {
  createFastPath,
  type FastPathOptions,
} from "../../../../plugins/chat/kit/stream/fast-path.ts";

interface Part {
  kind?: string;
  text?: string;
}

const json = (text: string, count = 1, more = {}) =>
  JSON.stringify({ at: 5, part: { kind: "delta", text }, usage: { count }, ...more });
const event = (text: string, count = 1, more = {}) =>
  `event: x\ndata: ${json(text, count, more)}\n\n`;

/** A lane that notes which texts were taken in passing and which were parsed. */
function makeFastPath(options: Partial<FastPathOptions> = {}) {
  const taken: string[] = [];
  const parsed: string[] = [];
  const all: string[] = [];
  const lane = createFastPath({
    key: "text",
    events: "blocks",
    parser: createSseParser((data) => {
      const { part } = JSON.parse(data.toString()) as { part?: Part };
      parsed.push(part?.text ?? "");
      all.push(part?.text ?? "");
      if (part?.kind === "delta") lane.learn();
    }),
    onText(bytes, start, end) {
      const text = JSON.parse(`"${bytes.toString("utf8", start, end)}"`) as string;
      taken.push(text);
      all.push(text);
    },
    ...options,
  });
  return { lane, taken, parsed, all, push: (text: string) => lane.push(Buffer.from(text)) };
}

test("takes the text of events that are alike", () => {
  const { push, taken, parsed } = makeFastPath();
  const texts = [
    "plain",
    'a "quote"',
    "back\\slash",
    "ends with \\",
    '\\"',
    "é 😀 \n",
    '"text":"inside"',
    "x".repeat(500),
  ];
  push(event("first"));
  push(texts.map((text, i) => event(text, i * 100)).join(""));
  assert.equal(taken, texts);
  assert.equal(parsed, ["first"]);
});

test("hands on the events themselves, those in a row as one, where they came as they were written", () => {
  const rows: string[] = [];
  const parsed: string[] = [];
  const lane = createFastPath({
    key: "text",
    events: "blocks",
    parser: createSseParser((data) => {
      parsed.push(data.toString());
      lane.learn(Buffer.from(`event: x\ndata: ${data.toString()}\n\n`));
    }),
    onText() {},
    onEvents: (bytes, start, end) => rows.push(bytes.toString("utf8", start, end)),
  });
  lane.push(
    Buffer.from(event("a").replace("event: x\n", "") + event("b") + event("c") + event("d", 77)),
  );
  assert.is(parsed.length, 2, "the first came otherwise than it is written");
  assert.equal(rows, [event("c") + event("d", 77)]);
});

test("parses whatever else comes, and goes on after it", () => {
  const odd = [
    event("a").replace("delta", "other"),
    event("b", 1, { done: true }),
    event("c", -1),
    event("d").replace('"at":5', '"at":6'),
    event("e").replace("event: x", "event: y"),
    `: comment\n${event("f")}`,
    event("g").replace("\ndata:", "\nid: 7\ndata:"),
  ];
  for (const one of odd) {
    const { push, taken, parsed } = makeFastPath();
    push(event("first") + event("second") + one + event("first") + event("last"));
    assert.is(parsed.length >= 2, true, one);
    assert.ok(taken.includes("second") && (taken.includes("last") || parsed.includes("last")), one);
  }
});

test("an event with something more is never taken for one without", () => {
  const { push, taken, parsed } = makeFastPath();
  push(event("first") + event("x", 1, { done: true }));
  assert.equal([taken, parsed], [[], ["first", "x"]]);
});

test("padding and other line ends are no difference", () => {
  const { push, taken } = makeFastPath();
  const padded = event("x").replace("}\n\n", "}            \n\n");
  push(event("first") + padded + event("y").replace("}}", "}   }"));
  assert.equal(taken, ["x", "y"]);
  const crlf = makeFastPath();
  crlf.push((event("first") + event("x") + event("y")).replaceAll("\n", "\r\n"));
  assert.equal(crlf.taken, ["x", "y"]);
});

test("cut anywhere, the texts and their order stay the same", () => {
  const stream = Buffer.from(
    event("a") + event("b") + `: note\n\n` + event("c", 1, { odd: 1 }) + event("d") + event("e"),
  );
  for (const text of [stream, Buffer.from(stream.toString().replaceAll("\n", "\r\n"))]) {
    for (let at = 1; at < text.length; at++) {
      const { lane, all } = makeFastPath();
      lane.push(text.subarray(0, at));
      lane.push(text.subarray(at));
      lane.end();
      assert.equal(all, ["a", "b", "c", "d", "e"], `cut at ${at}`);
    }
  }
});

test("a string that is not whole, or no JSON, is not taken", () => {
  const { push, taken } = makeFastPath();
  push(event("first"));
  const [head = ""] = event("open").split("open");
  assert.throws(() => push(`${head}broken\n\n${event("x")}`));
  assert.equal(taken, []);
});

test("learns only where the key stands once, before a string", () => {
  for (const bad of ['{"text":7}', '{"text":"a","b":{"text":"c"}}', '{"no":1}']) {
    const seen: string[] = [];
    const lane = createFastPath({
      key: "text",
      events: "lines",
      parser: {
        push() {
          lane.learn();
        },
        end() {},
      },
      onText: () => seen.push("taken"),
    });
    lane.push(Buffer.from(`${bad}\n${bad}\n`));
    assert.equal(seen, [], bad);
  }
});

test("lines, with numbers before the text that may differ", () => {
  const taken: string[] = [];
  const lane = createFastPath({
    key: "text",
    events: "lines",
    digitsBefore: true,
    parser: {
      push() {
        lane.learn();
      },
      end() {},
    },
    onText: (bytes, start, end) => taken.push(bytes.toString("utf8", start, end)),
  });
  lane.push(
    Buffer.from(`${json("a")}\n${json("b").replace('"at":5', '"at":61234')}\n${json("c")}\n`),
  );
  assert.equal(taken, ["b", "c"]);
});

test("events in one read, alike, with other numbers and of other kinds in any order, are told apart", () => {
  const kinds = [
    event("same"),
    event("same"),
    event("12 other numbers", 12),
    event("x1", 1234567).replace('"at":5', '"at":  5'),
    event("other", 1).replace("delta", "delt4"),
    event("more", 1, { done: 1 }),
    event("words", 7).replace('"count":7', '"count":7x'),
    event("no number", 7).replace('"count":7', '"count":'),
  ];
  const said = (text: string) => JSON.parse(/"text":("[^"]*")/.exec(text)![1]!) as string;
  for (let seed = 1; seed < 400; seed++) {
    const chosen = Array.from(
      { length: 9 },
      (_, i) => kinds[(seed * (i + 3) * 7919 + i * i * seed) % kinds.length]!,
    );
    const read: string[] = [];
    const lane = createFastPath({
      key: "text",
      events: "blocks",
      parser: createSseParser((data) => {
        const text = data.toString();
        read.push(said(text));
        if (text === json("first")) lane.learn();
      }),
      onText(bytes, start, end) {
        const text = bytes.toString("utf8", start, end);
        assert.ok(["same", "12 other numbers", "x1"].includes(text), `${text} was taken`);
        read.push(text);
      },
    });
    lane.push(Buffer.from(event("first") + chosen.join("")));
    lane.end();
    assert.equal(read, ["first", ...chosen.map(said)], `seed ${seed}`);
  }
});

test("hands out the numbers of the event taken last", () => {
  const { lane, push } = makeFastPath();
  push(event("first"));
  assert.is(lane.takeLast(), undefined);
  push(event("a", 7) + event("bb", 8));
  assert.equal(JSON.parse(String(lane.takeLast())), {
    at: 5,
    part: { kind: "delta", text: "" },
    usage: { count: 8 },
  });
  assert.is(lane.takeLast(), undefined);
});

test.run();
