/** Invalid query parameters of a list are refused by their name; nothing else is listed instead. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";

const test = suite("lists");
let gateway: InProcessGateway;
let runs: string;
test.before(async () => {
  gateway = await startGateway();
  const payload = { kind: "systemEvent", text: "x" };
  const { id } = await gateway.json("POST", "/cron/jobs", { schedule: "every 1h", payload });
  runs = `/cron/jobs/${id}/runs`;
});
test.after(() => gateway?.stop());

async function refused(path: string, name: string, value: string): Promise<void> {
  const response = await gateway.request("GET", `${path}?${name}=${encodeURIComponent(value)}`);
  const what = `${path} ${name}=${value}`;
  assert.is(response.status, 400, what);
  const { error } = (await response.json()) as { error: { param: string; message: string } };
  assert.is(error.param, name, what);
  assert.match(error.message, name, what);
}

test("the limit of a list is validated", async () => {
  const lists = [
    "/webhooks/deliveries",
    "/deliveries",
    "/sessions",
    "/turns",
    "/heartbeat",
    "/usage/requests",
    runs,
  ];
  for (const path of lists) {
    for (const value of [
      "x",
      "",
      "0",
      "-1",
      "1.5",
      "1e3",
      "1001",
      "99999999999999999999",
      " 5",
      "٣",
    ])
      await refused(path, "limit", value);
    for (const value of ["1", "1000"]) await gateway.json("GET", `${path}?limit=${value}`);
  }
});

test("the filters and times of a list are validated", async () => {
  for (const value of ["nope", "", "ACCEPTED"])
    await refused("/webhooks/deliveries", "outcome", value);
  for (const path of ["/deliveries", "/turns"])
    for (const value of ["nope", "", "Done"]) await refused(path, "state", value);
  for (const path of ["/webhooks/deliveries", "/deliveries"])
    for (const value of ["soon", "", "-1", "2026-13-01"]) await refused(path, "before", value);
  await gateway.json("GET", "/webhooks/deliveries?before=2026-05-01T00:00:00Z&outcome=skipped");
  await gateway.json("GET", "/deliveries?before=5&state=done");
});

test("a transcript can be read from its end", async () => {
  await gateway.json("POST", "/agent", { message: "Hello", session: "kept", wait: true });
  for (const value of ["x", "0", "-2", "1.5"]) await refused("/sessions/kept", "last", value);
  assert.is((await gateway.json("GET", "/sessions/kept?last=1")).messages.length, 1);
});

test.run();
