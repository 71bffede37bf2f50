/**
 * `npm run pages` operates pages of real component libraries only by refs, and compares the gateway's answers with the
 * values of the page. It installs the libraries (`package.json`) into a cache folder (`PORTICO_PAGES_CACHE`). It is not a
 * part of `npm test`, because it needs a package registry. Words select tasks: `npm run pages -- monaco`.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { build } from "esbuild";
import { type BrowserGateway, startBrowser, startSite } from "../plugins/browser/support.ts";
import { LibraryPage, Mismatch, Refusal } from "./page.ts";
import { type Task, TASKS, UPLOAD } from "./tasks.ts";

const HERE = import.meta.dirname;
const CACHE = process.env["PORTICO_PAGES_CACHE"] ?? join(homedir(), ".cache", "portico-pages");

const words = process.argv.slice(2).map((word) => word.toLowerCase());
const titleOf = ({ library, query = "", what }: Task): string => `${library}${query}: ${what}`;
const selectedTasks = TASKS.filter((task) =>
  words.every((word) => titleOf(task).toLowerCase().includes(word)),
);
install();
const site = await startSite(
  await bundlePages(new Set(selectedTasks.map(({ library }) => library))),
);
const browser = await startBrowser();
writeUpload();
let failures = 0;
try {
  for (const task of selectedTasks) {
    const result = await tryTask(browser, task);
    if (result !== "right") failures += 1;
    console.log(
      `${result === "right" ? "right" : "WRONG"}  ${titleOf(task)}${result === "right" ? "" : `\n       ${result}`}`,
    );
  }
} finally {
  await browser.stop();
  await site.stop();
}
console.log(`${selectedTasks.length - failures} of ${selectedTasks.length} tasks are right.`);
process.exit(failures > 0 ? 1 : 0);

/** Installs the libraries if their list has changed. */
function install(): void {
  const list = join(HERE, "package.json");
  const mark = join(CACHE, "installed.json");
  if (existsSync(mark) && readFileSync(mark, "utf8") === readFileSync(list, "utf8")) return;
  console.log(`Installing the libraries into ${CACHE}`);
  mkdirSync(CACHE, { recursive: true });
  copyFileSync(list, join(CACHE, "package.json"));
  // draft-js requires an older React than the other libraries.
  const options = ["--no-audit", "--no-fund", "--legacy-peer-deps"];
  execFileSync("npm", ["install", ...options], { cwd: CACHE, stdio: "inherit" });
  copyFileSync(list, mark);
}

/** Returns the pages by path, each with its script, and with a style sheet if the library has one. */
async function bundlePages(libraries: ReadonlySet<string>): Promise<Record<string, string>> {
  const { outputFiles } = await build({
    absWorkingDir: CACHE,
    entryPoints: [...libraries].map((name) => join(HERE, "sources", `${name}.jsx`)),
    outdir: CACHE,
    write: false,
    bundle: true,
    minify: true,
    format: "esm",
    jsx: "automatic",
    nodePaths: [join(CACHE, "node_modules")],
    loader: { ".ttf": "dataurl", ".svg": "dataurl" },
    define: { "process.env.NODE_ENV": '"production"', global: "window" },
  });
  const files = new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
  const pageOf = (name: string): string =>
    `<!doctype html><title>${name}</title><style>${files.get(`${name}.css`) ?? ""}</style>
    <div id="root"></div><script type="module">${escapeScript(files.get(`${name}.js`)!)}</script>`;
  return Object.fromEntries([...libraries].map((name) => [`/${name}`, pageOf(name)]));
}

function escapeScript(script: string): string {
  return script.replaceAll("</script", "<\\/script");
}

function writeUpload(): void {
  const dir = join(tmpdir(), "portico", "uploads");
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, UPLOAD.name), UPLOAD.text);
}

async function tryTask(gateway: BrowserGateway, task: Task): Promise<string> {
  const tab = await gateway.openTab();
  try {
    await tab.visit(`${site.url}/${task.library}${task.query ?? ""}`);
    await tab.act("wait", { fn: "() => typeof held === 'function'" });
    await task.run(new LibraryPage(tab));
    return "right";
  } catch (error) {
    if (error instanceof Refusal || error instanceof Mismatch) return error.message;
    throw error;
  } finally {
    await tab.act("close");
  }
}
