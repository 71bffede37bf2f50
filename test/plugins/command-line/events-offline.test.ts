/** The command line describes events without a gateway exactly as a gateway does. */
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { startGateway } from "../../support/gateway.ts";
import { declaredEvents } from "../../support/sources/declared-events.ts";

test("the events that are known without a gateway are those that one declares", async () => {
  const gateway = await startGateway();
  try {
    const { events } = await gateway.json<{
      events: { name: string; mode: string; description: string; changes: string[] }[];
    }>("GET", "/kernel/events");
    const declared = events.map(({ name, mode, description, changes }) => [
      name,
      { mode, description, changes },
    ]);
    const offlineEvents = Object.entries(await declaredEvents()).map(
      ([name, { mode, description, changes }]) => [
        name,
        { mode, description, changes: changes ?? [] },
      ],
    );
    assert.ok(offlineEvents.length > 15);
    assert.equal(Object.fromEntries(offlineEvents.sort()), Object.fromEntries(declared.sort()));
  } finally {
    await gateway.stop();
  }
});

test.run();
