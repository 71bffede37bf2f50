/** Checks the direction of the imports between the parts of the project. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "./support/suite.ts";
import * as assert from "uvu/assert";

const root = join(import.meta.dirname, "..");
const sources = ["kernel", "plugins", "hooks", "examples"].flatMap((room) =>
  readdirSync(join(root, room), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.includes("node_modules"))
    .map((file) => `${room}/${file}`),
);

interface Import {
  from: string;
  /** A path below the root, or the name of a package. */
  to: string;
  typeOnly: boolean;
  /** `import "…"`: for what it does. */
  isBare: boolean;
}

const imports: Import[] = sources.flatMap((file) => {
  const text = readFileSync(join(root, file), "utf8").replace(/`[^`]*`/gs, "``");
  const statements = [
    ...text.matchAll(/^(?:import|export)\s+(type\s)?[^;"'`]*?from\s+["']([^"']+)["']/gm),
    ...text.matchAll(/^(import)\s*["']([^"']+)["']/gm),
    ...text.matchAll(/()\bimport\(\s*["']([^"']+)["']\s*\)/g),
  ];
  return statements.map(([, kind, target = ""]) => ({
    from: file,
    to: target.startsWith(".") ? relative(root, resolve(root, dirname(file), target)) : target,
    typeOnly: kind?.startsWith("type") ?? false,
    isBare: kind === "import",
  }));
});

/** Which file may import a library; a folder where several small files share it. */
const importers: Record<string, string[]> = {
  polka: ["kernel/http/"],
  "gray-matter": ["kernel/host/extensions/hooks/front-matter.ts"],
  chokidar: ["kernel/host/extensions/watch-tree.ts"],
  pino: ["kernel/log/log.ts"],
  acorn: ["kernel/loader/guard-loops.ts"],
  esbuild: ["kernel/loader/bundle.ts", ".ci/build.ts"],
  libsql: ["plugins/store/sqlite/connection.ts"],
  pg: ["plugins/store/postgres/connection.ts"],
  "playwright-core": ["plugins/browser/drivers/playwright.ts"],
  cronstrue: ["plugins/schedules/describe-cron.ts"],
  croner: ["plugins/schedules/dates.ts"],
  "ipaddr.js": ["plugins/egress/", "kernel/net/address.ts"],
  htmlparser2: [
    "plugins/polls/sources/feeds/xml.ts",
    "plugins/webhooks/bodies/xml.ts",
    "plugins/agent-tools/web/page-text.ts",
  ],
  parse5: ["plugins/polls/sources/pages/page.ts"],
  "css-select": ["plugins/polls/sources/pages/select.ts"],
  diff: ["plugins/polls/checking/diff.ts"],
  "@pydantic/genai-prices": ["plugins/usage/prices.ts"],
  picomatch: ["plugins/polls/sources/file.ts"],
  re2js: ["plugins/webhooks/mappings/patterns.ts", "plugins/polls/sources/pages/ignore.ts"],
  ws: ["plugins/browser/net/web-socket.ts"],
};

/** The files that may make HTTP requests; all others use `portico/egress`, which limits and checks them. */
const requesters = [
  "plugins/egress/fetch.ts",
  // The command line speaks to its own gateway.
  "plugins/command-line/client.ts",
  "plugins/command-line/https.ts",
];

/** By their names: the folder `x` or `x-kit` publishes `portico/x`. */
const faces = new Map(
  sources.flatMap((file) => {
    const folder = /^plugins\/([^/]+)\/index\.ts$/.exec(file)?.[1];
    return folder === undefined ? [] : [[folder.replace(/-kit$/, ""), folder] as const];
  }),
);

function circlesIn(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (place: string, path: readonly string[]): void => {
    if (path.includes(place))
      return void circles.push([...path.slice(path.indexOf(place)), place].join(" → "));
    if (done.has(place)) return;
    for (const next of graph.get(place) ?? []) visit(next, [...path, place]);
    done.add(place);
  };
  for (const place of graph.keys()) visit(place, []);
  return circles;
}

/** All files that a file imports, over others too. */
function reachedFrom(file: string): Set<string> {
  const reached = new Set([file]);
  for (const file of reached)
    for (const { from, to } of imports) if (from === file && to.endsWith(".ts")) reached.add(to);
  return reached;
}

test("there are sources and imports to check", () => {
  assert.ok(sources.length > 50, `${sources.length} files`);
  assert.ok(imports.length > 100, `${imports.length} imports`);
});

test("the kernel imports no plugin and no hook", () => {
  const wrong = imports.filter(
    ({ from, to }) => from.startsWith("kernel/") && /^(plugins|hooks|test|examples)\//.test(to),
  );
  assert.equal(wrong, []);
});

/** The kernel's folders, from the lowest to the highest: each imports those before it only. */
const KERNEL_FOLDERS = [
  "text",
  "contract",
  "memory",
  "timing",
  "files",
  "schema",
  "net",
  "loader",
  "log",
  "config",
  "http",
  "home",
  "host",
  "gateway",
  "program",
];

/** Everything in the kernel may use the one error class. The other files next to it are entry points. */
const KERNEL_BASE_FILES = ["kernel/errors.ts"];

test("the folders of the kernel import each other only downwards, and no entry point", () => {
  const folderOf = (path: string) => /^kernel\/([^/]+)\//.exec(path)?.[1] ?? "";
  const kernelFolders = new Set(sources.map(folderOf).filter((folder) => folder !== ""));
  assert.equal([...kernelFolders].sort(), [...KERNEL_FOLDERS].sort());
  const levelOf = (path: string) => KERNEL_FOLDERS.indexOf(folderOf(path));
  const wrong = imports.filter(({ from, to }) => {
    if (!to.startsWith("kernel/") || KERNEL_BASE_FILES.includes(to)) return false;
    const isFromFolder = folderOf(from) !== "";
    const isToRootFile = folderOf(to) === "";
    if (KERNEL_BASE_FILES.includes(from) || (isFromFolder && isToRootFile)) return true;
    return isFromFolder && levelOf(to) > levelOf(from);
  });
  assert.equal(
    wrong.map(({ from, to }) => `${from} → ${to}`),
    [],
  );
});

/** The table of errors of a folder is at the bottom: everything in the folder uses it. */
test("a folder of the kernel and its own subfolders import each other in one direction only", () => {
  const arrows = new Map<string, string>();
  for (const { from, to } of imports) {
    const [source, target] = [dirname(from), dirname(to)];
    const isNested = source.startsWith(`${target}/`) || target.startsWith(`${source}/`);
    if (to === `${target}/errors.ts`) continue;
    if (isNested && source.startsWith("kernel/"))
      arrows.set(`${source} → ${target}`, `${from} → ${to}`);
  }
  const mutual = [...arrows].flatMap(([arrow, example]) => {
    const [source, target] = arrow.split(" → ");
    const back = arrows.get(`${target} → ${source}`);
    return back === undefined ? [] : [`${example} and ${back}`];
  });
  assert.equal(mutual, []);
});

test("the loader knows neither hooks nor plugins", () => {
  const below = /^kernel\/(loader\/|files\/|errors\.ts|contract\/modules\.ts)/;
  const wrong = imports.filter(
    ({ from, to }) => from.startsWith("kernel/loader/") && to.endsWith(".ts") && !below.test(to),
  );
  assert.equal(wrong, []);
});

test("a plugin imports portico, faces, and its own folder", () => {
  const wrong = imports.filter(({ from, to }) => {
    if (!from.startsWith("plugins/") || !to.includes("/")) return false;
    const own = from.split("/").slice(0, 2).join("/");
    return /^(plugins|kernel|hooks|test|examples)\//.test(to) && !to.startsWith(`${own}/`);
  });
  assert.equal(wrong, []);
});

test("every face is listed in the package's exports, and every import of one is of a plugin that has it", () => {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    exports: object;
  };
  const listed = Object.keys(exports).filter((key) => key !== "." && key !== "./package.json");
  assert.equal(listed.sort(), [...faces.keys()].map((name) => `./${name}`).sort());
  const wrong = imports.filter(
    ({ to }) => to.startsWith("portico/") && !faces.has(to.slice("portico/".length)),
  );
  assert.equal(wrong, []);
});

test("the imports between plugins have no cycle", () => {
  const arrows = new Map<string, string[]>();
  for (const { from, to } of imports) {
    const [room, own = ""] = from.split("/");
    const other = faces.get(to.slice("portico/".length)) ?? "";
    if (room !== "plugins" || !to.startsWith("portico/") || other === own) continue;
    arrows.set(own, [...new Set([...(arrows.get(own) ?? []), other])].sort());
  }
  assert.ok(arrows.size > 5, "there are arrows");
  assert.equal(
    circlesIn(arrows),
    [],
    [...arrows].map(([own, others]) => `${own} → ${others.join(", ")}`).join("\n"),
  );
});

/** Folders whose subfolders still import each other in circles. A folder leaves this list when its circle is gone. */
const FOLDERS_WITH_CIRCLES: readonly string[] = [];

/**
 * For each folder, its subfolders and which of them import which. All files below a subfolder count as that subfolder.
 * Files directly in a folder are shared by its subfolders, or put them together, and belong to none of them.
 */
function arrowsBetweenSubfolders(): Map<string, Map<string, string[]>> {
  const parents = new Map<string, Map<string, string[]>>();
  for (const { from, to } of imports) {
    if (!/^(kernel|plugins)\//.test(to) || !to.endsWith(".ts")) continue;
    const source = dirname(from).split("/");
    const target = dirname(to).split("/");
    const depth = source.findIndex((folder, index) => folder !== target[index]);
    const fromFolder = source[depth];
    const toFolder = target[depth];
    if (fromFolder === undefined || toFolder === undefined) continue;
    const parent = source.slice(0, depth).join("/");
    const arrows = parents.get(parent) ?? new Map<string, string[]>();
    const targets = new Set(arrows.get(fromFolder)).add(toFolder);
    parents.set(parent, arrows.set(fromFolder, [...targets].sort()));
  }
  return parents;
}

test("the subfolders of a folder do not import each other mutually or in a circle", () => {
  const parents = arrowsBetweenSubfolders();
  assert.ok(parents.size > 10, `${parents.size} folders with arrows between their subfolders`);
  const withCircles = [...parents].filter(([, arrows]) => circlesIn(arrows).length > 0);
  const drawing = withCircles.map(([parent, arrows]) =>
    [
      `${parent}:`,
      ...[...arrows].map(([folder, targets]) => `  ${folder} → ${targets.join(", ")}`),
      ...circlesIn(arrows).map((circle) => `  circle: ${circle}`),
    ].join("\n"),
  );
  assert.equal(
    withCircles.map(([parent]) => parent).sort(),
    FOLDERS_WITH_CIRCLES,
    drawing.join("\n"),
  );
});

test("only the bounded fetch makes HTTP requests", () => {
  const REQUEST =
    /\bhttps?\.(request|get)\(|import \{[^}]*\b(request|get)\b[^}]*\} from "node:https?"|from "(undici|node:http2|axios|got|node-fetch)"|\bglobalThis\.fetch\b/;
  const wrong = sources.filter(
    (file) => !requesters.includes(file) && REQUEST.test(readFileSync(join(root, file), "utf8")),
  );
  assert.equal(wrong, []);
});

test("a face's own files do not go through it", () => {
  const wrong = imports.filter(({ from, to }) => {
    const own = `plugins/${faces.get(to.slice("portico/".length))}`;
    return (
      to.startsWith("portico/") &&
      from.startsWith(`${own}/`) &&
      reachedFrom(`${own}/index.ts`).has(from)
    );
  });
  assert.equal(wrong, []);
});

test("hooks and examples import only portico and themselves", () => {
  const wrong = imports.filter(({ from, to }) => {
    if (!/^(hooks|examples)\//.test(from)) return false;
    const own = from.split("/").slice(0, 2).join("/");
    return /^(plugins|kernel|hooks|test|examples)\//.test(to) && !to.startsWith(`${own}/`);
  });
  assert.equal(wrong, []);
});

test("a library with a view of its own has one importer", () => {
  const wrong = imports.filter(({ from, to, typeOnly }) => {
    const allowed = importers[to];
    return (
      allowed && !typeOnly && !allowed.some((place) => from === place || from.startsWith(place))
    );
  });
  assert.equal(wrong, []);
});

test("the packages that the project is built on have their place", () => {
  const built = [
    "@sinclair/typebox",
    "chokidar",
    "gray-matter",
    "node-cron",
    "pino",
    "playwright-core",
    "polka",
  ];
  const unused = built.filter(
    (name) => !imports.some(({ from, to }) => to === name && !from.startsWith("test/")),
  );
  assert.equal(unused, []);
});

test("no file imports itself over others, be it for types only", () => {
  const graph = new Map<string, string[]>();
  for (const { from, to } of imports)
    if (to.endsWith(".ts")) graph.set(from, [...(graph.get(from) ?? []), to]);
  assert.equal(circlesIn(graph), []);
});

test("no module does anything by being imported alone: the build leaves such imports out", () => {
  assert.equal(
    imports.filter(({ isBare }) => isBare).map(({ from, to }) => `${from}: ${to}`),
    [],
  );
});

test("the top level has only the known folders and files", () => {
  const rooms = ["examples", "hooks", "kernel", "plugins", "test"];
  const files = [
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "package-lock.json",
    "package.json",
    "tsconfig.json",
  ];
  const generated = ["node_modules"];
  const there = readdirSync(root).filter((name) => !name.startsWith("."));
  assert.equal(
    there.filter((name) => ![...rooms, ...files, ...generated].includes(name)),
    [],
  );
});

test("the public API has at most 40 names", async () => {
  const names = Object.keys(await import("../kernel/index.ts"));
  assert.ok(names.length <= 40, `${names.length} names: ${names.join(", ")}`);
});

/** Every plugin and provider by name. Names that are everyday words count where they stand for the plugin. */
test("the kernel names no plugin, provider, or event of one", () => {
  const plugins = readdirSync(join(root, "plugins"));
  const providers = plugins.flatMap((name) => /^provider-(.+)$/.exec(name)?.[1] ?? []);
  const everyday = [
    "agent",
    "browser",
    "chat",
    "keys",
    "messages",
    "metrics",
    "nodes",
    "responses",
    "store",
    "strings",
    "usage",
    "management",
  ];
  // The kernel has members of these names: they count where they stand for the plugin's folder or face.
  const ownWords = ["secrets", "workers"];
  const patternOf = (name: string): RegExp => {
    if (ownWords.includes(name)) return new RegExp(`["'\`](?:plugins/|portico/)${name}`);
    return everyday.includes(name)
      ? new RegExp(`["'\`](?:plugins/|portico/)?${name}(?:["'\`]|[:/.][a-z*])`)
      : new RegExp(`(?<![\\w-])${name}(?![\\w-])`, "i");
  };
  const wrong: string[] = [];
  for (const file of sources.filter((file) => file.startsWith("kernel/"))) {
    for (const [index, line] of readFileSync(join(root, file), "utf8").split("\n").entries()) {
      for (const name of [...plugins, ...providers]) {
        if (patternOf(name).test(line)) wrong.push(`${file}:${index + 1}: ${name}: ${line.trim()}`);
      }
    }
  }
  assert.equal(wrong, []);
});

test("every test file runs each of its suites, and takes them from the module that reports failures", () => {
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".test.ts"),
  );
  const wrong = files.filter((file) => {
    const text = readFileSync(join(import.meta.dirname, file), "utf8");
    // another file's tests, under other circumstances
    if (/^await import\("\.\.\/[\w-]+\.test\.ts"\);$/m.test(text)) return false;
    const suites = [...text.matchAll(/^const (\w+) = suite\b/gm)].map(([, name]) => name);
    if (/^import \{ test \} from "[./]+(?:support\/)?suite\.ts"/m.test(text)) suites.push("test");
    return suites.length === 0 || suites.some((name) => !text.includes(`\n${name}.run();`));
  });
  assert.equal(wrong, []);
});

test.run();
