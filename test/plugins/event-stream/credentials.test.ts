/** Feeds that were opened with credentials which count no more. */
import * as assert from "uvu/assert";
import { startGateway } from "../../support/gateway.ts";
import { test } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

const feeds = ["/events", "/kernel/logs?follow=true", "/webhooks/tail"];

test("a new token ends feeds that were opened with the old one, and other changes end none", async () => {
  const webhooks = { enabled: true, token: "for-webhooks" };
  const write = (token: string, log = "info") =>
    gateway.write(
      "portico.json",
      JSON.stringify({ gateway: { port: 0, auth: { token } }, webhooks, log: { level: log } }),
    );
  const gateway = await startGateway({
    config: { gateway: { auth: { token: "the-old-token" } }, webhooks },
  });
  const ended: string[] = [];
  const ends = feeds.map(async (path) => {
    const response = await fetch(gateway.url + path, {
      headers: { authorization: "Bearer the-old-token" },
    });
    assert.is(response.status, 200, path);
    return { path, end: response.text().then(() => void ended.push(path)) };
  });
  const open = await Promise.all(ends);
  write("the-old-token", "debug");
  await until(
    "the other level",
    async () => (await gateway.json("GET", "/kernel/config")).value.log.level === "debug",
  );
  assert.equal(ended, []);
  write("the-new-token");
  await Promise.all(open.map(({ end }) => end));
  await gateway.stop();
});

test.run();
