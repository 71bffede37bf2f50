/** Gateways and their clients keep in touch while the plugin cluster, or the store below it, is replaced. */
import * as assert from "uvu/assert";
import type { GatewayEntry } from "../../../plugins/cluster/index.ts";
import { type InProcessGateway, startGateway, type TestGateway } from "../../support/gateway.ts";
import { startPostgres, type TestPostgres } from "../../support/machine/postgres.ts";
import { suite } from "../../support/suite.ts";
import { untilRight } from "../../support/until.ts";
import { chat, watch } from "./scene.ts";

const test = suite("reloads of the cluster");
let postgres: TestPostgres;
let local: InProcessGateway;
let other: InProcessGateway;

test.before(async () => {
  postgres = await startPostgres();
  const url = postgres.emptyUrl();
  const config = (name: string) => ({ gateway: { name }, store: { url } });
  local = await startGateway({ config: config("one") });
  other = await startGateway({ config: config("other") });
  for (const gateway of [local, other])
    await untilRight(
      () => list(gateway).then(namesOf),
      (names) => names.join() === "one,other",
    );
});
test.after(async () => {
  await local?.stop();
  await other?.stop();
  await postgres?.stop();
});

async function list(gateway: TestGateway): Promise<GatewayEntry[]> {
  const { gateways } = await gateway.json<{ gateways: GatewayEntry[] }>("GET", "/gateways");
  return gateways;
}

const namesOf = (entries: readonly GatewayEntry[]) => entries.map(({ name }) => name).sort();
const idsOf = (entries: readonly GatewayEntry[]) =>
  entries.map(({ id, name }) => `${name} ${id}`).sort();

for (const plugin of ["cluster", "store"]) {
  test(`a gateway keeps its entry and its id while ${plugin} is reloaded`, async () => {
    const ids = idsOf(await list(other));
    for (let i = 0; i < 5; i++) {
      await local.json("POST", `/kernel/plugins/${plugin}/reload`);
      for (let look = 0; look < 5; look++) {
        assert.equal(idsOf(await list(other)), ids);
        assert.equal(idsOf(await list(local)), ids);
      }
    }
  });

  test(`a client that follows the events of both goes on while ${plugin} is reloaded`, async () => {
    const feed = watch(local, "GET", "/events?name=message:received");
    await feed.opened;
    for (const [text, reload] of Object.entries({
      "before the reload": async () => {},
      "after a reload here": () => local.json("POST", `/kernel/plugins/${plugin}/reload`),
      "after a reload there": () => other.json("POST", `/kernel/plugins/${plugin}/reload`),
    })) {
      await reload();
      await untilRight(
        async () => {
          await chat(other, "echo", text);
          return feed.text();
        },
        (events) => events.includes(text),
      );
    }
    feed.close();
  });
}

test("a changed name appears in the list at once, and clients that follow events are not disturbed", async () => {
  const [own] = await list(local);
  const feed = watch(local, "GET", "/events?name=message:received");
  await feed.opened;
  await local.gateway.config.change([{ path: ["gateway", "name"], value: "renamed" }]);
  assert.equal(namesOf(await list(local)), ["other", "renamed"]);
  await untilRight(
    () => list(other).then(idsOf),
    (entries) => entries.includes(`renamed ${own?.id}`),
  );
  await untilRight(
    async () => {
      await chat(other, "echo", "after the change of the name");
      return feed.text();
    },
    (events) => events.includes("after the change of the name"),
  );
  feed.close();
});

test.run();
