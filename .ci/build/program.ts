/** The program: what `portico` runs. */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { builtIn, extensions, faces } from "./built-in.ts";
import { common, outdir, packageDir } from "./common.ts";

/** What a start needs; of the others, a package is loaded when it is first used. */
const startingPackages = [
  "@humanwhocodes/momoa",
  "@sinclair/typebox",
  "chokidar",
  "croner",
  "gray-matter",
  "ipaddr.js",
  "node-cron",
  "picomatch",
  "pino",
  "polka",
  "ws",
];

/** The kernel, the plugins and the bundled hooks in one file, and its launcher. */
export async function buildProgram(): Promise<void> {
  const { outputFiles } = await build({
    ...common,
    entryPoints: [join(packageDir, "kernel/main.ts")],
    format: "cjs",
    define: { "import.meta.dirname": "__dirname", "import.meta.url": "__url" },
    supported: { "dynamic-import": false },
    external: packagesOutside(),
    plugins: [builtIn([...extensions(), ...faces()])],
    write: false,
  });
  const url = "const __url=require('node:url').pathToFileURL(__filename).href;";
  const wrapped = `(function(exports,require,module,__filename,__dirname){${url}${outputFiles[0]?.text}\n})`;
  // For one such letter the engine would keep the whole text in two bytes each.
  const code = wrapped.replace(/[^\0-\xff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  mkdirSync(outdir);
  writeFileSync(join(outdir, "program.cjs"), `//${createHash("sha256").update(code).digest("hex")}\n${code}`, "latin1");
  await build({
    ...common,
    entryPoints: { portico: join(packageDir, "kernel/launcher.ts") },
    outdir,
    format: "esm",
    banner: { js: "#!/usr/bin/env node" },
  });
}

/** A gateway starts and answers once, in a home of its own: what the engine has compiled of the program by then is kept. */
export async function keepCompiled(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "portico-build-"));
  const channels = { local: { provider: "openai", baseUrl: "http://127.0.0.1:9/v1", models: ["none"] } };
  writeFileSync(join(home, "portico.json"), JSON.stringify({ gateway: { port: 0 }, channels }), { mode: 0o600 });
  const command = (word: string) => [join(outdir, "portico.js"), word, "--home", home];
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PORTICO_")));
  const gateway = spawn(process.execPath, command("start"), { env, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(gateway, "exit");
  for await (const text of gateway.stdout.setEncoding("utf8"))
    if (String(text).includes("Portico is running")) {
      spawnSync(process.execPath, command("status"), { env, stdio: "ignore" });
      gateway.kill();
    }
  await ended;
  rmSync(home, { recursive: true, force: true });
}

/** A development package is part of the program, since users do not have it; what imports one that is not there fails when it runs. */
function packagesOutside(): string[] {
  const manifest = JSON.parse(readFileSync(join(packageDir, "package.json"), "utf8")) as Manifest;
  const { dependencies, peerDependencies, devDependencies } = manifest;
  const missing = Object.keys(devDependencies).filter((name) => !existsSync(join(packageDir, "node_modules", name)));
  const later = Object.keys({ ...dependencies, ...peerDependencies }).filter(
    (name) => !startingPackages.includes(name),
  );
  return [...later, ...missing];
}

type Manifest = Record<"dependencies" | "peerDependencies" | "devDependencies", Record<string, string>>;
