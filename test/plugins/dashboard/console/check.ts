/** Drives every page of the console in a browser, at one size and in one theme. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import {
  complaintsOf,
  picture,
  type Setting,
  startFilled,
  type Visitor,
  visitSignedIn,
} from "../support.ts";
import { buildPages } from "./build.ts";
import { observePages } from "./observe.ts";
import type { PageRow } from "./page-rows.ts";
import { runPages } from "./run-pages.ts";

export interface Look {
  name: string;
  width: number;
  height: number;
  theme: "light" | "dark";
}

const SIZES = { wide: { width: 1280, height: 860 }, narrow: { width: 390, height: 844 } };

const look = (size: keyof typeof SIZES, theme: Look["theme"]): Look => ({
  name: `${size} and ${theme}`,
  ...SIZES[size],
  theme,
});

/** The first is that of `npm test`. */
export const looks: Look[] = [
  look("wide", "light"),
  look("wide", "dark"),
  look("narrow", "light"),
  look("narrow", "dark"),
];

const pages: PageRow[] = [...observePages, ...buildPages, ...runPages];
const axe = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** Returns what is wrong, a line for each finding. `report` hears of each page that was checked. */
export async function checkConsole(
  chromium: Browser,
  look: Look,
  report: (line: string) => void = () => {},
): Promise<string[]> {
  const gateway = await startFilled();
  const setting: Setting = { gateway, chromium };
  const findings: string[] = [];
  try {
    const visitor = await visitSignedIn(setting);
    await visitor.page.setViewportSize(look);
    await visitor.page.emulateMedia({ colorScheme: look.theme });
    findings.push(...(await missingRows(visitor.page)));
    for (const row of pages) {
      const problems = await checkPage(visitor, setting, row, look);
      report(`${problems.length === 0 ? "ok  " : "FAIL"} ${row.title}`);
      findings.push(...problems.map((problem) => `${row.title}: ${problem}`));
    }
  } finally {
    await gateway.stop();
  }
  return findings;
}

/** A page of the navigation that is not in the table would never be checked. */
async function missingRows(page: Page): Promise<string[]> {
  const titles = await page.locator("#nav a").allTextContents();
  return titles
    .filter((title) => !pages.some((row) => row.title === title))
    .map((title) => `${title}: no row of the table checks this page`);
}

async function checkPage(
  visitor: Visitor,
  setting: Setting,
  row: PageRow,
  look: Look,
): Promise<string[]> {
  const { page } = visitor;
  const problems: string[] = [];
  try {
    const path = typeof row.path === "string" ? row.path : await row.path(setting);
    await page.goto(`${setting.gateway.url}/#/${path}`);
    await row.shows(page).waitFor();
    await page.getByText("Loading …").waitFor({ state: "detached" });
    problems.push(...(await layoutProblems(page, look)), ...(await axeFindings(page)));
    await picture(page, `${look.name}-${row.title}`.replace(/\W+/g, "-").toLowerCase());
    await row.change?.(visitor, setting);
    if (row.change) problems.push(...(await axeFindings(page)));
  } catch (error) {
    problems.push(firstLines(error));
  }
  problems.push(...complaintsOf(visitor));
  return [...new Set(problems)];
}

/** Without the browser's own log, which fills screens. */
function firstLines(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split("\n").slice(0, 4).join("\n");
}

async function layoutProblems(page: Page, { width }: Look): Promise<string[]> {
  const needed = (await page.evaluate("document.documentElement.scrollWidth")) as number;
  return needed > width ? [`it is ${needed} px wide`] : [];
}

interface AxeViolation {
  id: string;
  impact: string;
  help: string;
  nodes: { target: string[]; failureSummary: string }[];
}

/** Serious and critical violations, each with the first element that has it. */
async function axeFindings(page: Page): Promise<string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe);
  const violations = (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
  )) as AxeViolation[];
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, help, nodes }) => {
      const [first] = nodes;
      return `axe ${id}: ${help}: ${first?.target.join(" ")} (${nodes.length} elements): ${first?.failureSummary}`;
    });
}
