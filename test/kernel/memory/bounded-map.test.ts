/** A map that is bounded by the number of its entries and by what they take. */
import { BoundedMap } from "portico";
import * as assert from "uvu/assert";
import { suite } from "../../support/suite.ts";

const test = suite("bounded map");

test("the entry that was set longest ago is removed first", () => {
  const map = new BoundedMap<number>({ maxEntries: 3 });
  for (const [i, key] of ["a", "b", "c", "a", "d"].entries()) map.set(key, i);
  assert.equal(
    [...map],
    [
      ["c", 2],
      ["a", 3],
      ["d", 4],
    ],
  );
});

test("keys and values count with their size", () => {
  const map = new BoundedMap<string>({
    maxEntries: 1000,
    maxBytes: 1000,
    sizeOf: (text) => text.length,
  });
  for (let i = 0; i < 100; i++) map.set(`${i}`.padStart(50, "k"), "v".repeat(100));
  assert.is(map.size, 5);
  map.set("short", "x".repeat(900));
  assert.equal([...map.keys()], ["short"]);
  map.set("k".repeat(501), "");
  assert.is(map.size, 0, "what is larger than all of it is not kept");
  map.set("a", "b");
  assert.is(map.get("a"), "b");
});

test("a removed entry makes room", () => {
  const map = new BoundedMap<undefined>({ maxEntries: 10, maxBytes: 100, sizeOf: () => 40 });
  map.set("a", undefined).set("b", undefined);
  assert.ok(map.delete("a"));
  assert.not.ok(map.delete("a"));
  map.set("c", undefined);
  assert.equal([...map.keys()], ["b", "c"]);
  map.clear();
  map.set("d", undefined).set("e", undefined);
  assert.is(map.size, 2);
});

test.run();
