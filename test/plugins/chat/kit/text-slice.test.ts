import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { createChunkWriter } from "../../../../plugins/chat/kit/stream/chunk-writer.ts";

const make = () =>
  createChunkWriter({ id: "chatcmpl-1", created: 1, model: "m", includeUsage: true });

test("slices stand between everything else in the order of writing, however it is taken", () => {
  const source = Buffer.from(`-é"${"long ".repeat(400)}-`.replaceAll('"', '\\"'));
  for (const every of [1, 2, 3, 100]) {
    const writer = make();
    const plain = make();
    const out: Buffer[] = [];
    let calls = 0;
    const step = (write: (to: typeof writer, slices: boolean) => void) => {
      write(writer, true);
      write(plain, false);
      if (++calls % every === 0) out.push(writer.take() ?? Buffer.alloc(0));
    };
    const slice = (start: number, end: number) => {
      const text = JSON.parse(`"${source.toString("utf8", start, end)}"`);
      step((to, slices) => (slices ? to.textSlice(source, start, end) : to.text(text)));
    };
    for (let round = 0; round < 20; round++) {
      slice(1, 3);
      slice(0, source.length);
      step((to) => to.text("between"));
      slice(1, 70);
      step((to) => to.reasoning("hm"));
    }
    step((to) => to.finish("stop"));
    step((to) => to.done());
    out.push(writer.take() ?? Buffer.alloc(0));
    assert.is(Buffer.concat(out).toString(), plain.take()?.toString(), `taken every ${every}`);
    assert.is(writer.take(), undefined);
  }
});

test("what was taken is not written to again", () => {
  const writer = make();
  writer.textSlice(Buffer.from("first"), 0, 5);
  const first = writer.take();
  const before = first?.toString();
  for (let i = 0; i < 50; i++) writer.textSlice(Buffer.from("again"), 0, 5);
  writer.take();
  assert.is(first?.toString(), before);
});

test.run();
