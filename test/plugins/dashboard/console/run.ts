/**
 * `npm run console`: drives every page of the console in a Chromium at two sizes and in both themes, and changes something
 * through each. It fails on a console error, a serious finding of axe, a page wider than the screen, or a lost update.
 * `PORTICO_PICTURES=DIR` keeps a screenshot of each page. `npm run console -- narrow dark` runs the looks whose name holds
 * all words.
 */
import { openBrowser } from "../support.ts";
import { checkConsole, looks } from "./check.ts";

const words = process.argv.slice(2);
const chosen = looks.filter(({ name }) => words.every((word) => name.includes(word)));
if (chosen.length === 0) {
  console.error(`There is no such look. There are: ${looks.map(({ name }) => name).join("; ")}.`);
  process.exit(1);
}
const chromium = await openBrowser();
const findings: string[] = [];
try {
  for (const look of chosen) {
    console.log(`\n${look.name}`);
    const problems = await checkConsole(chromium, look, (line) => console.log(`  ${line}`));
    for (const problem of problems) console.error(`  ${problem}`);
    findings.push(...problems);
  }
} finally {
  await chromium.close();
}
console.log(findings.length === 0 ? "\nNothing was found." : `\n${findings.length} findings.`);
process.exit(findings.length === 0 ? 0 : 1);
