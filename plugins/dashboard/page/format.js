/** Formats numbers, amounts of money and times for readers. */
import { h } from "./elements.js";

const UNKNOWN = "–";
const isMissing = (value) => value === undefined || value === null;

export const count = (value) => (isMissing(value) ? UNKNOWN : Number(value).toLocaleString());

/** Formats a cost. An unknown cost is not zero. */
export function dollars(usd) {
  if (isMissing(usd)) return UNKNOWN;
  const digits =
    Math.abs(usd) < 1
      ? { maximumSignificantDigits: 4 }
      : { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  return `$${usd.toLocaleString("en", digits)}`;
}

const SIZES = [
  ["GB", 1e9],
  ["MB", 1e6],
  ["kB", 1e3],
];

export function bytes(value) {
  if (isMissing(value)) return UNKNOWN;
  const [unit, size] = SIZES.find(([, size]) => value >= size) ?? ["bytes", 1];
  const digits = unit === "bytes" ? 0 : 1;
  return `${(value / size).toFixed(digits)} ${unit}`;
}

const UNITS = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
];

/** Formats milliseconds in one unit: `3 min`, `1.84 s`, `12 ms`. */
export function duration(ms) {
  if (isMissing(ms)) return UNKNOWN;
  if (ms < 1000) return `${ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)} ms`;
  const seconds = ms / 1000;
  const unit = UNITS.find(([, size]) => seconds >= size);
  if (unit) return `${Math.floor(seconds / unit[1])} ${unit[0]}`;
  return `${seconds < 10 ? Math.round(seconds * 100) / 100 : Math.floor(seconds)} s`;
}

/** Shows how long ago a time was, with the exact time as its title. `tick` updates it. */
export function ago(iso) {
  if (isMissing(iso)) return UNKNOWN;
  const date = new Date(iso);
  const attributes = { datetime: date.toISOString(), title: exactTime(date), class: "relative" };
  return h("time", attributes, relative(date));
}

/** Shows the time of day, with the date as its title. */
export function clock(iso) {
  const date = new Date(iso);
  return h(
    "time",
    { datetime: date.toISOString(), title: exactTime(date) },
    date.toLocaleTimeString(),
  );
}

export function exactTime(value) {
  return new Date(value).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

/** Updates all relative times of the page. */
export function tick() {
  for (const each of document.querySelectorAll("main time.relative")) {
    const text = relative(new Date(each.dateTime));
    if (each.textContent !== text) each.textContent = text;
  }
}

function relative(date) {
  const seconds = (Date.now() - date.getTime()) / 1000;
  if (Math.abs(seconds) < 1.5) return "now";
  const text = duration(Math.floor(Math.abs(seconds)) * 1000);
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}

/** Shortens a text, with the whole text as its title. */
export function shortened(text, maxLength = 200) {
  if (text.length <= maxLength) return text;
  return h("span", { title: text.slice(0, 5000) }, `${text.slice(0, maxLength)} …`);
}

/** Shows a long id on one line, cut off at the available width, with the whole id as its title. */
export const idText = (id) => h("span", { class: "id", title: id }, id);

export const json = (value) => h("pre", {}, JSON.stringify(value, null, 2));

/** Formats a number with its noun: `1 request`, `2 requests`. */
export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
