/** The command line on a real local feed, up to the turn that it starts. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { startGateway } from "../../support/gateway.ts";
import { portico, porticoHere } from "../../support/portico.ts";
import { until } from "../../support/until.ts";

test("portico polls works on a local feed", async () => {
  const posts = ["first"];
  const feed = createServer((_req, res) => {
    const items = posts
      .map((title, i) => `<item><guid>${i}</guid><title>${title}</title></item>`)
      .reverse();
    res
      .setHeader("content-type", "application/rss+xml")
      .end(`<rss version="2.0"><channel>${items.join("")}</channel></rss>`);
  });
  await new Promise<void>((resolve) => feed.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(feed.address() as AddressInfo).port}/feed.xml`;
  const gateway = await startGateway({ config: { agents: { defaults: { model: "echo" } } } });
  const cli = (...words: string[]) => porticoHere(gateway.home, words);
  try {
    const added = await portico(gateway.home, [
      "polls",
      "add",
      "blog",
      "--url",
      url,
      "--every",
      "1s",
      "--message",
      "Read {item.title}",
      "--session",
      "blog",
      "--json",
    ]);
    assert.is(added.code, 0, added.stderr);
    assert.is(JSON.parse(added.stdout).source.kind, "feed");
    await until(
      "the baseline",
      async () => (await gateway.json("GET", "/polls/blog")).state.lastStatus,
    );
    posts.push("second");
    const session = await until("the turn", async () => {
      const response = await gateway.request("GET", "/sessions/blog");
      return response.ok ? await response.text() : undefined;
    });
    assert.match(session, "Read second");
    const dry = await cli("polls", "test", "--url", url, "--text", "{item.title}!");
    assert.match(dry.stdout, "second!");
    assert.match((await cli("polls", "runs", "blog")).stdout, "changed");
    const turn = await cli("polls", "edit", "blog", "--message", "Read it: {item.title}", "--json");
    assert.equal(JSON.parse(turn.stdout).payload, {
      kind: "agentTurn",
      message: "Read it: {item.title}",
      session: "blog",
    });
    const edited = await cli("polls", "edit", "blog", "--every", "1h", "--ignore", "x");
    assert.is(edited.code, 1, "a feed has nothing to ignore");
    assert.match(edited.stderr, "source");
    const missing = await cli("polls", "add", "x");
    assert.is(missing.code, 1);
    assert.match(missing.stderr, "--url URL or --path PATH");
    assert.match((await cli("polls", "list")).stdout, "blog");
    assert.match((await cli("polls", "disable", "blog")).stdout, "blog is disabled.");
    assert.match((await cli("polls", "enable", "blog")).stdout, /status +enabled/);
    assert.match((await cli("polls", "rm", "blog")).stdout, "blog is removed.");
  } finally {
    await gateway.stop();
    feed.closeAllConnections();
    await new Promise((resolve) => feed.close(resolve));
  }
});

test.run();
