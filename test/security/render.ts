/** Writes the tables of access.ts into SECURITY.md: `npx tsx test/security/render.ts`. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  CREDENTIALS,
  type Column,
  PRINCIPALS,
  REACH,
  type RouteRows,
  ROUTES,
  SESSIONS,
  TOOLS,
} from "./access.ts";

const PAGE = join(import.meta.dirname, "../../SECURITY.md");
const BEGIN = "<!-- access: rendered by test/security/render.ts -->";
const END = "<!-- end of access -->";

type Rows = Record<string, Record<Column, string>>;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return lines.join("\n");
}

function principalTable(what: string, rows: Rows): string {
  const cells = Object.entries(rows).map(([name, row]) => [
    name,
    ...PRINCIPALS.map((principal) => row[principal]),
  ]);
  return table([what, ...PRINCIPALS], cells);
}

function routeTable(): string {
  const cells = ROUTES.map(({ about, allowed, routes }) => [
    `${about}: ${areasOf(routes)}`,
    ...CREDENTIALS.map((credential) => (allowed.includes(credential) ? "yes" : "–")),
  ]);
  return table(["routes", ...CREDENTIALS], cells);
}

/** `/cron`, `/polls`: the first step of the paths. */
function areasOf(routes: RouteRows["routes"]): string {
  const areas = routes.map((route) => {
    const path = route.slice(route.indexOf(" ") + 1);
    const colon = path.indexOf(":/");
    return colon > 0 ? path.slice(0, colon) : `/${path.split("/")[1] ?? ""}`;
  });
  return [...new Set(areas)].map((area) => `\`${area}\``).join(", ");
}

/** The tables between the two marks of the page. */
export function renderAccess(): string {
  return [
    BEGIN,
    principalTable("tool", TOOLS),
    principalTable("a turn", REACH),
    principalTable("session", SESSIONS),
    routeTable(),
    END,
  ].join("\n\n");
}

/** Returns the tables that the page has now. */
export function accessOnPage(page = readFileSync(PAGE, "utf8")): string {
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  return begin < 0 || end < begin ? "" : page.slice(begin, end + END.length);
}

if (process.argv[1] === import.meta.filename) {
  const page = readFileSync(PAGE, "utf8");
  writeFileSync(PAGE, page.replace(accessOnPage(page), renderAccess));
}
