/** `/ready` while the store is away, and once it is back. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../../support/gateway.ts";
import { startPostgres, type TestPostgres } from "../../../support/machine/postgres.ts";
import { suite } from "../../../support/suite.ts";
import { until } from "../../../support/until.ts";

const test = suite("readiness of the store");
let server: TestPostgres;
let gateway: InProcessGateway;

test.before(async () => {
  server = await startPostgres();
  gateway = await startGateway({ config: { store: { url: server.emptyUrl() } } });
});
test.after(async () => {
  await gateway?.stop();
  await server?.stop();
});

test("the gateway is not ready while its store is unavailable, and names the plugin that waits", async () => {
  const ready = () => gateway.request("GET", "/ready", undefined, { token: null });
  assert.is((await ready()).status, 200);
  await server.stop("immediate");
  await until("a 503 that names the store", async () => {
    const response = await ready();
    const { plugins } = (await response.json()) as { plugins: string[] };
    return response.status === 503 && plugins.includes("store");
  });
  await server.start();
  await until("a 200", async () => (await ready()).status === 200);
});

test.run();
