import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { plainName, thinOut } from "../../../../plugins/browser/files/own-files.ts";

test("names are safe, whatever was suggested", () => {
  assert.is(plainName("../../evil.txt"), "__.._evil.txt");
  assert.is(plainName("a\u0000b\n/c.txt"), "a_b__c.txt");
  assert.is(plainName("x\\y?.txt"), "x_y_.txt");
  assert.is(plainName(".bashrc"), "_bashrc");
  assert.is(plainName("..."), "_");
  assert.is(plainName(""), "file");
  assert.is(plainName("", "download"), "download");
  assert.is(plainName("Bericht, 50 % fertig (ä).pdf"), "Bericht, 50 % fertig (ä).pdf");
});

test("a long name keeps its extension, and fits a file system with a limit in bytes", () => {
  assert.is(plainName(`${"x".repeat(500)}.txt`), `${"x".repeat(116)}.txt`);
  const dir = mkdtempSync(join(tmpdir(), "portico-names-"));
  try {
    const name = plainName(`${"報".repeat(500)}😀.pdf`);
    assert.match(name, /報😀\.pdf$/);
    writeFileSync(join(dir, name), "");
    assert.not.match(plainName(`${"x".repeat(3)}. ${"y".repeat(119)}`), /^[\s.]/);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test("the oldest files beyond 200 are deleted", async () => {
  const dir = mkdtempSync(join(tmpdir(), "portico-kept-"));
  try {
    mkdirSync(join(dir, "folder"));
    for (let i = 0; i < 202; i++) {
      writeFileSync(join(dir, `${i}`), "");
      // The lower the number, the younger.
      utimesSync(join(dir, `${i}`), 1_700_000_000 - i, 1_700_000_000 - i);
    }
    await thinOut(dir);
    const left = new Set(readdirSync(dir));
    assert.is(left.size, 200);
    for (const name of ["199", "200", "201"]) assert.not(left.has(name), name);
    for (const name of ["0", "198", "folder"]) assert.ok(left.has(name), name);
    await thinOut(dir);
    assert.is(readdirSync(dir).length, 200);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test.run();
