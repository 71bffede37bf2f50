/**
 * `npm run soak`: mixed load for an hour, and each minute what the gateway holds: memory after a collection, file handles
 * and disk. It fails where the heap grows after minute 15. `npm run soak -- 20` runs for 20 minutes.
 *
 * The hook that it saves every 5 seconds adds some 50 kB a minute: Node.js cannot unload the module of an earlier version.
 */
import { build } from "../bench/harness/built.ts";
import { type Reading, SoakGateway } from "./gateway.ts";
import { type Caller, callers, HOOK_FILES, soakConfig } from "./load.ts";
import { startSoakUpstream } from "./upstream.ts";

const MINUTE_MS = 60_000;
const WARM_UP_MINUTES = 15;
/** Of the heap between the warm-up's end and the last minutes. */
const MOST_GROWTH = 0.1;
const ERRORS_SHOWN = 5;

const minutes = Number(process.argv[2] ?? 60);
if (!(minutes >= 1)) throw new Error("Give the duration in minutes: npm run soak -- 20");

const counts = new Map<string, number>();
const errors: string[] = [];
const ending = new AbortController();

build();
const upstream = await startSoakUpstream();
const gateway = new SoakGateway();
await gateway.start(soakConfig(upstream.url), HOOK_FILES(0));
const running = callers.map(repeat);
console.log("minute   requests  errors   RSS MB  heap MB  external MB  handles  disk MB");
const readings: Reading[] = [];
for (let minute = 1; minute <= minutes; minute++) {
  await new Promise((resolve) => setTimeout(resolve, MINUTE_MS));
  const reading = await gateway.read();
  readings.push(reading);
  console.log(lineOf(minute, reading));
}
ending.abort();
await Promise.all(running);
await gateway.stop();
upstream.close();
console.log([...counts].map(([name, count]) => `${name} ${count}`).join(", "));
for (const error of errors.slice(0, ERRORS_SHOWN)) console.log(error);
judge();

/** Makes calls at an even pace. One that is slow holds up nothing but its own next one. */
async function repeat({ name, everyMs, call }: Caller): Promise<void> {
  for (let n = 1; !ending.signal.aborted; n++) {
    const next = new Promise((resolve) => setTimeout(resolve, everyMs));
    await call(gateway, n).catch((error: unknown) => {
      errors.push(`${name}: ${String(error)}`);
    });
    counts.set(name, n);
    await next;
  }
}

function lineOf(minute: number, reading: Reading): string {
  const requests = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const { residentMb, heapMb, externalMb, handles, diskMb } = reading;
  return [
    String(minute).padStart(6),
    String(requests).padStart(11),
    String(errors.length).padStart(8),
    residentMb.toFixed(1).padStart(9),
    heapMb.toFixed(1).padStart(9),
    externalMb.toFixed(1).padStart(13),
    String(handles).padStart(9),
    diskMb.toFixed(1).padStart(9),
  ].join("");
}

/** A single reading may hold what is under way: the smallest of five stands for what is kept. */
function judge(): void {
  const after = readings.slice(WARM_UP_MINUTES);
  if (after.length < 10) {
    console.log(
      `Too short to tell whether the heap grows: that needs ${WARM_UP_MINUTES + 10} minutes.`,
    );
    return;
  }
  const least = (some: readonly Reading[]) => Math.min(...some.map(({ heapMb }) => heapMb));
  const [first, last] = [least(after.slice(0, 5)), least(after.slice(-5))];
  const growth = last / first - 1;
  const percent = (growth * 100).toFixed(1);
  console.log(
    `Heap: ${first.toFixed(1)} MB at minute 15 to 20, ${last.toFixed(1)} MB at the end (${percent} %).`,
  );
  if (growth > MOST_GROWTH || errors.length > 0) process.exitCode = 1;
}
