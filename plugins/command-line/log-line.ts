/** Formats a JSON log line for a terminal. Returns its text and tone. */
export function formatLogLine(line: string): [text: string, tone: "warn" | "error" | undefined] {
  const { level, time, msg, err, ...rest } = JSON.parse(line) as Record<string, unknown> & {
    level: string;
    time: string;
    msg?: string;
    err?: { stack?: string };
  };
  const fields = Object.entries(rest)
    .filter(([, value]) => value !== undefined && typeof value !== "object")
    .map(([key, value]) => ` ${key}=${value}`)
    .join("");
  const text = `${time.slice(11, 19)} ${level.padEnd(5)} ${msg ?? ""}${fields}${err?.stack ? `\n${err.stack}` : ""}`;
  return [text, toneOf(level)];
}

function toneOf(level: string): "warn" | "error" | undefined {
  if (level === "warn") return "warn";
  return level === "error" || level === "fatal" ? "error" : undefined;
}
