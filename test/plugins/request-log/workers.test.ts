import * as assert from "uvu/assert";
import { spawnGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

const test = suite("requests of several workers");

test("each worker lists the requests of all workers, page by page", async () => {
  const gateway = await spawnGateway({ config: { gateway: { workers: 2 } } });
  try {
    const ids: string[] = [];
    const ask = async () => {
      const response = await gateway.request(
        "POST",
        "/v1/chat/completions",
        { model: "echo", messages: [{ role: "user", content: "hi" }] },
        { headers: { connection: "close" } },
      );
      await response.text();
      ids.push(response.headers.get("x-request-id")!);
    };
    for (let i = 0; i < 8; i++) await ask();
    await until("all requests", async () => {
      const { requests } = await gateway.json("GET", "/requests?model=echo");
      return requests.length === ids.length;
    });
    const first = await gateway.json("GET", "/requests?limit=5");
    const second = await gateway.json("GET", `/requests?limit=5&before=${first.next}`);
    const paged = [...first.requests, ...second.requests].map(({ id }: { id: string }) => id);
    assert.equal([...paged].sort(), [...ids].sort());
    for (const id of ids) assert.is((await gateway.json("GET", `/requests/${id}`)).id, id);
  } finally {
    await gateway.stop();
  }
});

test.run();
