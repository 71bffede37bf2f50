/** Usage as a CSV file: one line for each hour or day and each entry of the group. */
import { get } from "../api.js";
import { h } from "../dom.js";

const AMOUNTS = [
  "requests",
  "errors",
  "promptTokens",
  "completionTokens",
  "cachedTokens",
  "totalTokens",
  "costUsd",
  "unpriced",
  "p50Ms",
  "p95Ms",
  "firstByteP50Ms",
  "firstByteP95Ms",
];

/** Downloads a file. `range` is that of `GET /usage`, `step` is "hour" or "day". Returns a message for the reader. */
export async function downloadCsv(range, step, by) {
  const query = new URLSearchParams({ ...range, by: `${step},${by}` });
  const { rows, from, to } = await get(`/usage?${query}`);
  const columns = [step, by, ...AMOUNTS];
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))];
  const name = `usage-by-${by}-${from.slice(0, 10)}-${to.slice(0, 10)}.csv`;
  save(name, lines.map((cells) => cells.map(csvCell).join(",")).join("\r\n") + "\r\n");
  return `${name}: ${rows.length} lines`;
}

/** A spreadsheet would run a text that begins like a formula, so such a text gets an apostrophe. */
function csvCell(value) {
  if (typeof value === "number") return String(value);
  const text = String(value ?? "");
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  h("a", { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}
