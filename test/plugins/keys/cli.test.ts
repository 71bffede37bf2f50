/** `portico keys` and `portico usage`: the first command of each as a process of its own, the others in this one. */
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { startGateway } from "../../support/gateway.ts";
import { completion, json, startUpstream } from "../../support/upstreams/upstream.ts";
import { portico, porticoHere } from "../../support/portico.ts";

test("portico keys and portico usage", async () => {
  const usage = { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 };
  const up = await startUpstream((_, res) => json(res, completion("Hi", { usage })));
  const gateway = await startGateway({
    config: { channels: { own: { provider: "openai", baseUrl: up.url } } },
  });
  const cli = (...words: string[]) => porticoHere(gateway.home, words);
  try {
    const made = await portico(gateway.home, [
      "keys",
      "create",
      "ci",
      "--models",
      "echo,main/*",
      "--rpm",
      "60",
      "--tpm",
      "1000",
      "--budget",
      "5/day",
      "--expires",
      "30d",
    ]);
    assert.is(made.code, 0, made.stderr);
    const key = /^pk_\S{43}$/m.exec(made.stdout)?.[0];
    assert.ok(key, made.stdout);

    const { keys } = await gateway.json("GET", "/keys");
    const { expires, expiresAt, version, ...shown } = keys[0];
    assert.is(expires, expiresAt, "its older name");
    const listed = await gateway.request("GET", "/keys/ci");
    assert.is(listed.headers.get("etag"), `"${version}"`, "for If-Match");
    assert.equal(shown, {
      name: "ci",
      state: "active",
      models: ["echo", "main/*"],
      requestsPerMinute: 60,
      tokensPerMinute: 1000,
      budget: { usd: 5, per: "day" },
      spentUsd: 0,
      enabled: true,
    });
    const days = (Date.parse(expires) - Date.now()) / 86_400_000;
    assert.ok(days > 29.9 && days < 30.1, expires);
    assert.match(
      (await cli("keys", "list")).stdout,
      /ci +active +echo, main\/\* +60 +1000 +\$0 of \$5 per day/,
    );

    const body = { model: "echo", messages: [{ role: "user", content: "one two" }] };
    const response = await gateway.request("POST", "/v1/chat/completions", body, { token: key });
    assert.is(response.status, 200);
    const used = await portico(gateway.home, ["usage", "--since", "1h", "--by", "key,model"]);
    assert.is(used.code, 0, used.stderr);
    assert.match(used.stdout, /^KEY +MODEL +REQUESTS/m);
    assert.match(used.stdout, /^ci +echo +1 /m);
    const { rows, by } = JSON.parse((await cli("usage", "--by", "day", "--json")).stdout);
    assert.equal([by, rows.length, rows[0].requests], [["day"], 1, 1]);

    await gateway.request("POST", "/v1/chat/completions", { ...body, model: "own/unheard-of" });
    assert.match((await cli("usage", "--by", "channel")).stdout, /^own +1 +.* unknown$/m);
    assert.match((await cli("usage", "--by", "key")).stdout, /^total .* unknown$/m);

    for (const [words, what] of [
      [["keys", "create", "x", "--budget", "5"], "--budget"],
      [["keys", "create", "x", "--expires", "30x"], "12h, 30d, 4w"],
      [["keys", "revoke", "nobody"], "no key"],
      [["usage", "--since", "soon"], "since"],
    ] as const) {
      const failed = await cli(...words);
      assert.is(failed.code, 1, words.join(" "));
      assert.match(failed.stderr, what);
    }

    assert.match((await cli("keys", "revoke", "ci")).stdout, "revoked");
    assert.is(
      (await gateway.request("POST", "/v1/chat/completions", body, { token: key })).status,
      401,
    );
  } finally {
    await gateway.stop();
    await up.close();
  }
});

test.run();
