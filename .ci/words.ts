/**
 * Checks the English of every file that changed: spelling with cspell, and phrases that our style page replaces. Of the
 * files in `test/`, it checks the titles of the tests: each is a sentence that a report shows.
 *
 * Changed files are those that differ from `PORTICO_WORDS_BASE`, or else from the point where the branch left
 * `origin/main`, or else from the commit before the last one. `npm run words -- --all` checks the whole tree.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

const checkedPaths =
  /^(?:kernel|plugins|hooks|examples|\.ci)\/.*\.(?:ts|md|html|css|js)$|^[A-Z]+\.md$/;

/** Phrases of the project's former style, each with the standard wording. The style page explains why. */
const replacedPhrases: readonly (readonly [RegExp, string])[] = [
  [
    /\b(?:is|are|was|were|be) told\b/i,
    "say who reports what: “the log names …”, “the client receives …”",
  ],
  [/\btells of\b/i, "“reports”"],
  [/\bmend(?:s|ed|ing)?\b/i, "“repair”, “fix”; what to do about a problem is its “remedy”"],
  [/\blies (?:in|under|beside)\b/i, "“is in”, “is next to”"],
  [/\bin force\b/i, "“active” or “applied”"],
  [/\bas (?:it|they) came\b/i, "“unchanged”"],
  [/\bwhat (?:it does|they do) not change\b/i, "name what stays unchanged"],
  [/\bnobody can be asked\b/i, "say what is missing: a terminal, a client"],
  [/\bwhat lacks\b/i, "name the missing thing"],
  [/\bgoes on without\b/i, "“continues without”"],
  [/\b(?:is|are) had\b|\bcould not be had\b|\bto be had\b/i, "“is available”"],
  [/\bsomebody\b.*\basks for\b/i, "name the caller: client, plugin, hook"],
];

/** Words of titles that have a plainer form. cspell replaces them elsewhere, but it does not read tests. */
// cspell:disable
const replacedInTitles: readonly (readonly [RegExp, string])[] = [
  [/\btold\b/i, "say what is reported, returned, shown or sent"],
  [/\bwhoever\b/i, "name the client, caller or reader"],
  [/\banew\b/i, "“again”"],
  [/\blies?\b/i, "“is in”, “is below”"],
];
// cspell:enable

const files = (process.argv.includes("--all") ? allFiles() : changedFiles()).filter(
  (file) => checkedPaths.test(file) && existsSync(file),
);
const isSpelledWell = files.length === 0 || checkSpelling(files);
const phraseProblems = process.argv.includes("--all")
  ? findInTitles(allFiles())
  : [...findReplacedPhrases(), ...findInTitles(changedFiles())];
for (const problem of phraseProblems) console.error(problem);
if (!isSpelledWell || phraseProblems.length > 0) process.exit(1);
console.log(`words: ${files.length} files checked`);

function git(...args: string[]): string {
  return execFileSync("git", args, {
    encoding: "utf8",
    maxBuffer: 2 ** 28,
    stdio: ["ignore", "pipe", "ignore"],
  }).trim();
}

function allFiles(): string[] {
  return git("ls-files").split("\n");
}

function changedFiles(): string[] {
  const base = baseCommit();
  const tracked = base ? git("diff", "--name-only", base).split("\n") : [];
  const untracked = git("ls-files", "--others", "--exclude-standard").split("\n");
  return [...tracked, ...untracked];
}

/** Returns the commit that changes are compared with, or `undefined` if the history has none. */
function baseCommit(): string | undefined {
  const configuredBase = process.env["PORTICO_WORDS_BASE"];
  if (configuredBase) return configuredBase;
  const candidates = [
    ["merge-base", "HEAD", "origin/main"],
    ["rev-parse", "--verify", "HEAD~1"],
  ];
  const head = resolveCommit(["rev-parse", "HEAD"]);
  return candidates.map(resolveCommit).find((commit) => commit !== undefined && commit !== head);
}

function resolveCommit(args: readonly string[]): string | undefined {
  try {
    return git(...args);
  } catch {
    return undefined;
  }
}

function checkSpelling(paths: readonly string[]): boolean {
  const cspell = ["node_modules/cspell/bin.mjs", "lint", "--no-progress", "--no-summary"];
  const { status } = spawnSync(process.execPath, [...cspell, ...paths], { stdio: "inherit" });
  return status === 0;
}

/** Returns the added lines with one of the replaced phrases, as `file: line: advice`. */
function findReplacedPhrases(): string[] {
  const base = baseCommit();
  if (!base) return [];
  let file = "";
  const problems: string[] = [];
  for (const line of git("diff", "-U0", base).split("\n")) {
    if (line.startsWith("+++ ")) file = line.slice("+++ b/".length);
    if (!line.startsWith("+") || line.startsWith("+++") || !checkedPaths.test(file)) continue;
    if (file === ".ci/words.ts" || file === "CONTRIBUTING.md") continue;
    for (const [phrase, advice] of replacedPhrases)
      if (phrase.test(line))
        problems.push(`${file}: ${line.slice(1).trim()}\n  Instead: ${advice}`);
  }
  return problems;
}

/** Returns the titles of tests with a replaced phrase, as `file: title: advice`. */
function findInTitles(paths: readonly string[]): string[] {
  const problems: string[] = [];
  for (const file of new Set(paths)) {
    if (!/^test\/.*\.ts$/.test(file) || !existsSync(file)) continue;
    for (const title of titlesIn(readFileSync(file, "utf8")))
      for (const [phrase, advice] of [...replacedPhrases, ...replacedInTitles])
        if (phrase.test(title)) problems.push(`${file}: ${title}\n  Instead: ${advice}`);
  }
  return problems;
}

/**
 * Returns the titles in a source: the first arguments, if they are strings or templates, of `suite(…)`, of functions
 * whose name begins with `test`, and of those that `suite` returns under another name.
 */
function titlesIn(source: string): string[] {
  const suiteNames = [...source.matchAll(/\bconst (\w+) = suite\(/g)].map(([, name]) => name);
  const functions = ["(?:test|suite)\\w*", ...suiteNames].join("|");
  const title = new RegExp(`\\b(?:${functions})\\(\\s*(["'\`])((?:\\\\.|(?!\\1)[^\\\\])*)\\1`, "g");
  return [...source.matchAll(title)].map(([, , text]) => text ?? "");
}
