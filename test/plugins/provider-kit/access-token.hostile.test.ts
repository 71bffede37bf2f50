/** A token server's response becomes a token, or an error that names its source. */
import * as assert from "uvu/assert";
import { createRenewed, isUpstreamError } from "portico/provider";
import { readAccessToken } from "portico/models";
import { test } from "../../support/suite.ts";

const NOW = 1_000_000;
const read = (status: number, body: string) =>
  readAccessToken({ channel: "c" }, { status, headers: {}, body: Buffer.from(body) }, () => NOW);

test("an invalid token is a short error of the channel", () => {
  const bodies = [
    "",
    "null",
    "[]",
    "7",
    '"x"',
    "<html>",
    "{",
    '{"access_token":""}',
    '{"access_token":7}',
    "\xff".repeat(99),
  ];
  for (const status of [200, 302, 400, 401, 404, 500, 503]) {
    for (const body of [
      ...bodies,
      JSON.stringify({ error: "x".repeat(1e6) }),
      '{"error":{"message":{}}}',
    ]) {
      try {
        read(status, body);
        assert.unreachable(`${status} ${body.slice(0, 40)}`);
      } catch (error) {
        assert.ok(isUpstreamError(error), String(error));
        assert.is(error.kind, status >= 400 && status < 500 ? "auth" : "upstream");
        assert.ok(
          error.message.includes("`c`") && error.message.length < 700,
          error.message.slice(0, 200),
        );
      }
    }
  }
});

test("senseless lifetimes count as short, and never prevent the next token from being fetched", async () => {
  for (const life of [-1, 0, 1e308, "3600", "soon", null, {}, [], 1e-9]) {
    const { value, expiresAt } = read(200, JSON.stringify({ access_token: "t", expires_in: life }));
    assert.is(value, "t");
    assert.not.ok(Number.isNaN(expiresAt), String(life));
    let fetchCount = 0;
    const get = createRenewed(
      async () => ({ value: ++fetchCount, expiresAt }),
      () => NOW,
    );
    assert.is(await get(), 1);
    assert.ok(((await get()) as number) <= 2);
  }
});

test.run();
