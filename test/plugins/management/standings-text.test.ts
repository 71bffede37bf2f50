/** The JSON of standings matches the current list, regardless of earlier lists. */
import * as assert from "uvu/assert";
import {
  type Standing,
  cachedStandingsJson,
} from "../../../plugins/management/routes/standings-text.ts";
import { test } from "../../support/suite.ts";

test("an entry that differs in any way from the previous list is written again", () => {
  const text = cachedStandingsJson();
  const lists: Standing[][] = [
    [],
    [{ name: "a", state: "active" }],
    [{ name: "a", state: "active", error: undefined }],
    [{ name: "a", state: "failed", error: "a.ts:1" }],
    [{ name: "a", state: "failed", error: "a.ts:2" }],
    [
      { name: "a", state: "failed", error: "a.ts:2" },
      { name: "b", state: "active" },
    ],
    [
      { name: "b", state: "active" },
      { name: "a", state: "failed", error: "a.ts:2" },
    ],
    [{ name: "b", state: "active" }],
    [],
  ];
  for (const list of lists) {
    assert.is(text(list), JSON.stringify(list));
    assert.is(text(structuredClone(list)), JSON.stringify(list));
  }
});

test("members for other purposes are left out", () => {
  const entry = { name: "a", state: "active", dir: "/home/x/hooks/a" };
  assert.is(cachedStandingsJson()([entry]), '[{"name":"a","state":"active"}]');
});

test.run();
