/**
 * Writes until it is killed, and says on stdout what was acknowledged.
 * Arguments: file, name, callers, how many writes each (0: without a limit), mode (`queue`: also claims and finishes).
 */
import { writeSync } from "node:fs";
import { openStore } from "../../../plugins/store/open.ts";
import { quietLog } from "../../support/quiet-log.ts";

const [file = "", name = "w", callers = "1", each = "0", mode = "write"] = process.argv.slice(2);
const store = openStore({ url: `file:${file}`, log: quietLog() });
await store.open();
writeSync(1, "ready\n");

async function write(caller: number): Promise<void> {
  for (let n = 0; n < (Number(each) || Number.POSITIVE_INFINITY); n++) {
    const id = `${name}-${caller}-${n}`;
    try {
      await store.enqueue({
        items: [{ id, lane: `l${caller}`, kind: "turn", body: { text: "x".repeat(200) } }],
        deliveries: [{ id: `d-${id}`, source: "test", outcome: "accepted", itemId: id }],
      });
      writeSync(1, `added ${id}\n`);
    } catch (error) {
      writeSync(1, `refused ${id} ${(error as { code?: string }).code}\n`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

async function work(): Promise<void> {
  for (;;) {
    const claims = await store.claim(name, 4, 1000, ["turn"]);
    await Promise.all(
      claims.map(async (claim) => {
        const message = { role: "assistant", body: claim.item.id };
        const owned = await store.finish(
          claim,
          { state: "done" },
          { messages: [{ session: claim.item.lane, messages: [message] }] },
        );
        if (owned) writeSync(1, `finished ${claim.item.id}\n`);
      }),
    );
    if (claims.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const writers = Promise.all(Array.from({ length: Number(callers) }, (_, caller) => write(caller)));
if (mode === "queue") void work();
await writers;
if (mode !== "queue") await store.close();
