/**
 * Parses the dates of feeds: ISO 8601, RFC 822 with zone names and military letters, `asctime`, and 14 digits. A date
 * without a zone is UTC, regardless of the zone of this machine.
 */

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/** The offsets of zone names, in hours ahead of UTC. */
const ZONES: Readonly<Record<string, number>> = {
  ut: 0,
  utc: 0,
  gmt: 0,
  z: 0,
  wet: 0,
  bst: 1,
  cet: 1,
  mez: 1,
  west: 1,
  cest: 2,
  mesz: 2,
  eet: 2,
  sast: 2,
  eest: 3,
  msk: 3,
  ist: 5.5,
  hkt: 8,
  sgt: 8,
  awst: 8,
  jst: 9,
  kst: 9,
  aest: 10,
  aedt: 11,
  nzst: 12,
  nzdt: 13,
  ast: -4,
  adt: -3,
  est: -5,
  edt: -4,
  cst: -6,
  cdt: -5,
  mst: -7,
  mdt: -6,
  pst: -8,
  pdt: -7,
  akst: -9,
  akdt: -8,
  hst: -10,
};

const TIME = String.raw`(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?(?:\s*([ap])\.?m\.?)?`;
const ZONE = String.raw`\s*(z|[+-]\d\d:?\d\d|[+-]\d\d|(?:gmt|utc)[+-]\d\d?:?\d?\d?|[a-z]{1,5})?`;
const WEEKDAY = String.raw`(?:[a-z]{2,9}[.,]*\s+)?`;

const ISO = new RegExp(
  String.raw`^(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?:[t\s]+${TIME})?${ZONE}$`,
);
const RFC_822 = new RegExp(
  String.raw`^${WEEKDAY}(\d{1,2})[\s-]+([a-z]{3,9})\.?[\s-]+(\d{2,4})(?:,?\s+${TIME})?${ZONE}$`,
);
const AMERICAN = new RegExp(
  String.raw`^${WEEKDAY}([a-z]{3,9})\.?\s+(\d{1,2}),?\s+(\d{4})(?:,?\s+${TIME})?${ZONE}$`,
);
const ASCTIME = new RegExp(
  String.raw`^[a-z]{3,9}\s+([a-z]{3,9})\s+(\d{1,2})\s+${TIME}${ZONE}\s+(\d{4})$`,
);
const DIGITS = /^(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?z?$/;

interface DateParts {
  year: number;
  /** From 1 to 12. */
  month: number;
  day: number;
  time?: readonly (string | undefined)[];
  zone?: string | undefined;
}

/** Returns epoch ms; undefined for a text that is not a date, or a date that does not exist. */
export function parseFeedDate(text: string): number | undefined {
  const parts = readParts(
    text
      .trim()
      .replace(/\s+/g, " ")
      .replace(/\s*\([^)]*\)$/, "")
      .toLowerCase(),
  );
  return parts && toInstant(parts);
}

function readParts(text: string): DateParts | undefined {
  const digits = DIGITS.exec(text);
  if (digits) {
    const [, year, month, day, ...time] = digits;
    return { year: Number(year), month: Number(month), day: Number(day), time };
  }
  const iso = ISO.exec(text);
  if (iso) {
    const [, year, month = "1", day = "1", hours, minutes, seconds, half, zone] = iso;
    const time = [hours, minutes, seconds, half];
    return { year: Number(year), month: Number(month), day: Number(day), time, zone };
  }
  const rfc = RFC_822.exec(text);
  if (rfc) {
    const [, day, month, year, hours, minutes, seconds, half, zone] = rfc;
    const time = [hours, minutes, seconds, half];
    return { year: toFullYear(year), month: monthOf(month), day: Number(day), time, zone };
  }
  const american = AMERICAN.exec(text);
  if (american) {
    const [, month, day, year, hours, minutes, seconds, half, zone] = american;
    const time = [hours, minutes, seconds, half];
    return { year: Number(year), month: monthOf(month), day: Number(day), time, zone };
  }
  const asctime = ASCTIME.exec(text);
  if (!asctime) return undefined;
  const [, month, day, hours, minutes, seconds, half, zone, year] = asctime;
  const time = [hours, minutes, seconds, half];
  return { year: Number(year), month: monthOf(month), day: Number(day), time, zone };
}

function toInstant({ year, month, day, time = [], zone }: DateParts): number | undefined {
  const [hours = "0", minutes = "0", seconds = "0", half] = time;
  const offset = zone === undefined || zone === "" ? 0 : zoneOffset(zone);
  if (offset === undefined) return undefined;
  const hour = half === undefined ? Number(hours) : (Number(hours) % 12) + (half === "p" ? 12 : 0);
  if (hour > 24 || Number(minutes) > 59 || Number(seconds) > 60) return undefined;
  const midnight = new Date(0);
  midnight.setUTCFullYear(year, month - 1, day);
  if (midnight.getUTCMonth() !== month - 1 || midnight.getUTCDate() !== day) return undefined;
  const sinceMidnight = (hour * 60 + Number(minutes)) * 60 + Number(seconds);
  return midnight.getTime() + sinceMidnight * 1000 - offset * 3_600_000;
}

/** Returns hours ahead of UTC; undefined for an unknown zone. */
function zoneOffset(zone: string): number | undefined {
  const [, sign, hours, minutes = "0"] = /^(?:gmt|utc)?([+-])(\d\d?):?(\d\d)?$/.exec(zone) ?? [];
  if (sign !== undefined) return (sign === "-" ? -1 : 1) * (Number(hours) + Number(minutes) / 60);
  if (/^[a-z]$/.test(zone) && zone !== "z") return militaryOffset(zone);
  return ZONES[zone];
}

// cspell:ignore abcdefghiklm nopqrstuvwxy
/**
 * Returns the offset of a military zone of RFC 822 as feed readers interpret it: A is UTC−1, M UTC−12, N UTC+1, Y
 * UTC+12; J is not a zone.
 */
function militaryOffset(letter: string): number | undefined {
  if (letter === "j") return undefined;
  const index = "abcdefghiklm".indexOf(letter);
  return index >= 0 ? -(index + 1) : "nopqrstuvwxy".indexOf(letter) + 1;
}

/** Two-digit years below 70 belong to this century. */
function toFullYear(text = ""): number {
  const year = Number(text);
  if (text.length > 2) return year;
  return year < 70 ? 2000 + year : 1900 + year;
}

/** Returns 1 to 12; 0 for a word that is not a month. */
const monthOf = (text = ""): number => MONTHS.indexOf(text.slice(0, 3)) + 1;
