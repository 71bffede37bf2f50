/** A log line for a person at a terminal; elsewhere lines stay JSON. */
const colours: Record<string, string> = { warn: "\u001b[33m", error: "\u001b[31m", fatal: "\u001b[31m" };

export function prettyLine(line: string): string {
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
  const colour = colours[level] ?? "";
  const end = colour ? "\u001b[0m" : "";
  const stack = err?.stack ? `\n${err.stack}` : "";
  return `${time.slice(11, 19)} ${colour}${level.padEnd(5)}${end} ${msg ?? ""}\u001b[2m${fields}\u001b[0m${stack}\n`;
}
