/**
 * Compares the scan that counts a JSON text before it is parsed (kernel/text/json-scan.ts) with `JSON.parse` of the same
 * text, in processor time. `requests` is typical of clients, so its scan must take a small part of the parsing time. The
 * other shapes are the most expensive ones for their size.
 */
import { DEFAULT_JSON_LIMITS, scanJson } from "../../kernel/text/json-scan.ts";
import { median } from "./harness/measure.ts";

const ROUNDS = 9;
const MEGABYTE = 1_000_000;
const unlimited = { maxValues: 1e12, maxMembers: 1e12, maxDepth: 1e12 };

const message =
  '{"role":"user","content":"Hello there, what is the weather like in Berlin today?"},';
const shapes: Record<string, string> = {
  requests: `[${message.repeat(MEGABYTE / message.length)}1]`,
  "one long text": JSON.stringify("a".repeat(10 * MEGABYTE)),
  "escaped quotes": JSON.stringify('"'.repeat(5 * MEGABYTE)),
  "white space": `[${" ".repeat(10 * MEGABYTE)}1]`,
  numbers: `[${"1,".repeat(5 * MEGABYTE)}1]`,
};

function cpuMs(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

console.log("shape             MB   scan ms  parse ms   within the limits");
for (const [name, text] of Object.entries(shapes)) {
  // A flat string, like the text of a body.
  const flat = Buffer.from(text).toString("latin1");
  const times = (work: () => unknown) =>
    median(Array.from({ length: ROUNDS }, () => cpuMs(work))).toFixed(1);
  const scan = times(() => scanJson(flat, unlimited));
  const parse = times(() => JSON.parse(flat));
  const limited = times(() => scanJson(flat, DEFAULT_JSON_LIMITS));
  const size = (flat.length / MEGABYTE).toFixed(0);
  console.log(
    `${name.padEnd(16)} ${size.padStart(3)} ${scan.padStart(9)} ${parse.padStart(9)} ${limited.padStart(10)} ms`,
  );
}
