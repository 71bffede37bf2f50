import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { EventPattern } from "../../../../plugins/chat/kit/stream/event-pattern.ts";

const KEY = Buffer.from('"content"');
const eventOf = (text: string) =>
  Buffer.from(
    `data: {"id":"é1","choices":[{"index":0,"delta":{"content":"${text}"},"finish_reason":null}]}\n\n`,
  );

/** The texts of the events that match one behind the other. */
function matched(pattern: EventPattern, bytes: Buffer): string[] {
  const texts: string[] = [];
  for (let ok = pattern.match(bytes, 0); ok; ok = pattern.matchNext(bytes))
    texts.push(bytes.toString("utf8", pattern.stringStart, pattern.stringEnd));
  return texts;
}

test("events that differ in their string match one behind the other", () => {
  const pattern = EventPattern.of(eventOf("learned"), KEY, "none")!;
  const texts = ["a", "", "é\\n", 'q\\"q', "x".repeat(300), "end"];
  assert.equal(matched(pattern, Buffer.concat(texts.map(eventOf))), texts);
  // of other bytes in the same memory
  const bytes = Buffer.concat([eventOf("one"), eventOf("two")]);
  assert.equal(matched(pattern, bytes), ["one", "two"]);
  eventOf("six").copy(bytes, 0);
  assert.equal(matched(pattern, bytes), ["six", "two"]);
});

test("one byte beside the string that is another, wherever it stands, and the event does not match", () => {
  const pattern = EventPattern.of(eventOf("learned"), KEY, "none")!;
  const [first, second] = [eventOf("one"), eventOf("two")];
  const from = second.indexOf("two");
  for (let at = 0; at < second.length; at++) {
    if (at >= from && at < from + 3) continue;
    for (const change of [1, 0x80]) {
      const bytes = Buffer.concat([first, second, eventOf("three")]);
      bytes[first.length + at]! ^= change;
      assert.equal(matched(pattern, bytes), ["one"], `byte ${at}`);
    }
  }
  for (let length = 0; length < second.length; length++)
    assert.equal(
      matched(pattern, Buffer.concat([first, second.subarray(0, length)])),
      ["one"],
      `${length} bytes`,
    );
});

test("events of every length are told by the first one", () => {
  for (let length = 1; length < 5000; length += length < 40 ? 1 : 617) {
    const event = (text: string, end = "}") =>
      `data: {"id":"${"i".repeat(length)}","content":"${text}"${end}\n\n`;
    const pattern = EventPattern.of(Buffer.from(event("first")), KEY, "none")!;
    const bytes = Buffer.from(event("a") + event("") + event("other text") + event("x", ' "a":1}'));
    assert.equal(matched(pattern, bytes), ["a", "", "other text"], String(length));
  }
});

test.run();
