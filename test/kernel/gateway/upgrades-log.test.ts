import { once } from "node:events";
import { request } from "node:http";
import * as assert from "uvu/assert";
import { startGateway } from "../../support/gateway.ts";
import { test } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

test("a refused upgrade has a line in the log with its request id and without its query", async () => {
  const gateway = await startGateway();
  const headers = {
    connection: "upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "x-request-id": "upgrade-1",
  };
  const upgrade = request({
    host: "127.0.0.1",
    port: gateway.port,
    path: "/nodes/connect?token=sesame",
    headers,
  });
  upgrade.end();
  const [response] = await once(upgrade, "response");
  response.resume();
  assert.is(response.statusCode, 401);
  const line = await until("its line", () => gateway.lines.find(({ id }) => id === "upgrade-1"));
  assert.equal(
    [line["level"], line["path"], line["status"], line["msg"]],
    ["info", "/nodes/connect", 401, "request"],
  );
  assert.not.match(JSON.stringify(gateway.lines), "sesame");
  await gateway.stop();
});

test.run();
