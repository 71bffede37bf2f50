/** A result that is on its way when the gateway is killed arrives all the same, under the id that it had. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import * as assert from "uvu/assert";
import { makeHome, spawnGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

const test = suite("deliveries over a kill");

interface Seen {
  id: string;
  turnId: string;
  held?: ServerResponse;
}

test("a delivery survives kill -9 before the receiver has responded, and while a retry waits", async () => {
  const requests: Seen[] = [];
  let isResponding = false;
  const receiver = createServer(async (req, res) => {
    let body = "";
    for await (const part of req) body += part;
    const request: Seen = {
      id: String(req.headers["webhook-id"]),
      turnId: JSON.parse(body).data.turnId,
    };
    requests.push(request);
    if (isResponding) res.end();
    else if (req.url === "/busy") res.writeHead(503).end();
    else request.held = res;
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const connections = promisify(receiver.getConnections.bind(receiver));
  const target = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const home = makeHome();
  const config = {
    agents: { defaults: { model: "echo", heartbeat: { every: "0" } } },
    deliveries: { retryMs: [600] },
  };
  const first = await spawnGateway({ home, config });
  try {
    const start = async (path: string): Promise<string> =>
      (
        await first.json("POST", "/agent", {
          message: "hi",
          wait: true,
          delivery: { url: target + path },
        })
      ).turnId;
    const turns = [await start("/slow"), await start("/busy")];
    await until("both attempts", () =>
      turns.every((turn) => requests.some(({ turnId }) => turnId === turn)),
    );
    await first.kill("SIGKILL");
    await until("all that it had sent to be here", async () => (await connections()) === 0);
    isResponding = true;
    requests.length = 0;
    const second = await spawnGateway({ home });
    try {
      const ended = await until("their arrival", async () => {
        const { deliveries } = await second.json("GET", "/deliveries");
        return deliveries.every(({ state }: { state: string }) => state === "done") && deliveries;
      });
      assert.equal(ended.map(({ turnId }: Seen) => turnId).sort(), [...turns].sort());
      for (const turn of turns)
        assert.equal(
          requests.filter(({ turnId }) => turnId === turn).map(({ id }) => id),
          [`dlv_${turn}`],
        );
    } finally {
      await second.stop();
    }
  } finally {
    await first.kill("SIGKILL");
    receiver.closeAllConnections();
    receiver.close();
  }
});

test.run();
