/**
 * One of several gateways' worth of work over one store, until it is killed; says on stdout what was told to it.
 * Arguments: url, name, mode. `work`: adds, claims, finishes, fires a schedule's slots and takes from a limit. `hold`:
 * claims one item and ends it when a line comes in.
 */
import { writeSync } from "node:fs";
import { openStore } from "../../../../plugins/store/open.ts";
import { quietLog } from "../../../support/quiet-log.ts";

const SLOT_MS = 50;
const LEASE_MS = 700;
const [url = "", name = "", mode = "work"] = process.argv.slice(2);
const store = openStore({ url, log: quietLog() });
const say = (text: string) => writeSync(1, `${text}\n`);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A refusal is no end: whoever is refused comes again. */
async function forEver(step: (n: number) => Promise<unknown>): Promise<void> {
  for (let n = 0; ; n++) {
    try {
      await step(n);
    } catch (error) {
      say(`refused ${(error as { code?: string }).code}`);
      await pause(20);
    }
  }
}

async function add(caller: number, n: number): Promise<void> {
  const id = `${name}-${caller}-${n}`;
  await store.enqueue({
    items: [{ id, lane: `${name}-${caller}`, kind: "turn", body: {} }],
    deliveries: [{ id: `d-${id}`, source: "test", outcome: "accepted", itemId: id }],
  });
  say(`added ${id}`);
  await pause(2);
}

async function work(): Promise<void> {
  const claims = await store.claim(name, 4, LEASE_MS, ["turn"]);
  if (claims.length === 0) await pause(5);
  for (const claim of claims) {
    const messages = [
      { session: claim.item.lane, messages: [{ role: "assistant", body: claim.item.id }] },
    ];
    if (await store.finish(claim, { state: "done" }, { messages }))
      say(`finished ${claim.item.id}`);
  }
}

async function fire(): Promise<void> {
  const slot = (await store.schedules.get("cron", "job"))?.nextAt ?? Number.POSITIVE_INFINITY;
  if (slot > store.now()) return void (await pause(5));
  const messages = [{ session: "slots", messages: [{ role: "assistant", body: slot }] }];
  const rev = await store.tick(
    { kind: "cron", id: "job", expectedNext: slot, next: slot + SLOT_MS },
    { messages },
  );
  if (rev !== undefined) say(`fired ${slot}`);
}

async function take(n: number): Promise<void> {
  const id = `limited-${name}-${n}`;
  const limit = { key: "shared", max: 40, windowMs: 3_600_000 };
  const { limit: limitResult } = await store.enqueue({
    items: [{ id, lane: id, kind: "limited", body: {} }],
    limit,
  });
  say(`${limitResult?.allowed ? "taken" : "denied"} ${id}`);
  await pause(10);
}

async function hold(): Promise<void> {
  const [claim] = await store.claim(name, 1, LEASE_MS, ["turn"]);
  if (!claim) throw new Error("there is nothing to claim");
  process.stdin.once("data", async () => {
    const messages = [{ session: "held", messages: [{ role: "assistant", body: name }] }];
    say(`owned ${await store.finish(claim, { state: "done" }, { messages })}`);
    say(`extended ${await store.extend(claim, LEASE_MS)}`);
    process.exit();
  });
  say(`claimed ${claim.item.id}`);
}

await store.open();
if (mode === "hold") await hold();
else {
  for (let caller = 0; caller < 3; caller++) void forEver((n) => add(caller, n));
  void forEver(work);
  void forEver(fire);
  void forEver(take);
}
