/** The program: what `portico` runs. */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";
import { builtIn, extensions, faces } from "./built-in.ts";
import { asFunction, type Chunk, chunksOf, textOf, withNeeds } from "./chunks.ts";
import { common, outdir, packageDir } from "./common.ts";

/** What a start needs; of the others, a package is loaded when it is first used. */
const startingPackages = [
  "@humanwhocodes/momoa",
  "@sinclair/typebox",
  "chokidar",
  "croner",
  "gray-matter",
  "ipaddr.js",
  "libsql",
  "node-cron",
  "picomatch",
  "pino",
  "polka",
  "ws",
];

/** Where a command begins that asks the running gateway; it needs a twentieth of the program. */
const commands =
  /^(kernel\/main|plugins\/command-line\/(plugin|run)|plugins\/management\/(plugin|commands\/.*))\.ts$/;

/** In a chunk of their own, since commands need them of what else stands in one with the schemas of all plugins. */
const alone = ["kernel/text/nearest.ts"];

/**
 * The kernel, the plugins and the bundled hooks in one file; and in another what commands need, which is read sooner.
 * In a directory other than `.build` it takes itself for the one there.
 */
export async function buildProgram(dir = outdir): Promise<void> {
  const result = await build({
    ...common,
    bundle: true,
    absWorkingDir: packageDir,
    entryPoints: [
      join(packageDir, "kernel/main.ts"),
      ...alone.map((path) => join(packageDir, path)),
    ],
    entryNames: "[name]",
    splitting: true,
    format: "esm",
    outdir,
    chunkNames: "[name]-[hash]",
    define: {
      "import.meta.dirname": dir === outdir ? "__dirname" : JSON.stringify(outdir),
      "import.meta.url": "__url",
    },
    external: [...packagesOutside(), "@libsql/*"],
    plugins: [builtIn([...extensions(), ...faces()]), cheapTarget],
    metafile: true,
    write: false,
  });
  const chunks = await chunksOf(result);
  mkdirSync(dir, { recursive: true });
  writeChunks(join(dir, "program.cjs"), chunks);
  writeChunks(
    join(dir, "command.cjs"),
    withNeeds(chunks, (entry) => commands.test(entry)),
  );
}

function writeChunks(file: string, chunks: readonly Chunk[]): void {
  // For one such letter the engine would keep the whole text in two bytes each.
  const code = textOf(chunks).replace(
    /[^\0-\xff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  writeFileSync(file, `//${createHash("sha256").update(code).digest("hex")}\n${code}`, "latin1");
}

/** CommonJS: a command would take 5 ms longer to load an ES module. */
export async function buildLauncher(dir = outdir): Promise<void> {
  await build({
    ...common,
    ...asFunction,
    bundle: true,
    entryPoints: { portico: join(packageDir, "kernel/launcher.ts") },
    outdir: dir,
    outExtension: { ".js": ".cjs" },
    define: { "import.meta.dirname": "__dirname" },
    banner: { js: "#!/usr/bin/env node" },
  });
  // What units and plugins' tests that were made before name.
  writeFileSync(join(dir, "portico.js"), 'import "./portico.cjs";\n');
  // npm does this once for a folder, when `npx portico` first runs there; one that is cloned anew would be refused.
  chmodSync(join(dir, "portico.cjs"), 0o755);
}

/** A gateway starts and answers once, in a home of its own: what the engine has compiled of the program by then is kept. */
export async function keepCompiled(dir = outdir): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "portico-build-"));
  const channels = {
    local: { provider: "openai", baseUrl: "http://127.0.0.1:9/v1", models: ["none"] },
  };
  writeFileSync(join(home, "portico.json"), JSON.stringify({ gateway: { port: 0 }, channels }), {
    mode: 0o600,
  });
  const command = (word: string) => [join(dir, "portico.cjs"), word, "--home", home];
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith("PORTICO_")),
  );
  const gateway = spawn(process.execPath, command("start"), {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(gateway, "exit");
  for await (const text of gateway.stdout.setEncoding("utf8"))
    if (String(text).includes("Portico is running")) {
      // One that is content with its part of the program, and one that is not.
      for (const word of ["status", "channels"])
        spawnSync(process.execPath, command(word), { env, stdio: "ignore" });
      gateway.kill();
    }
  await ended;
  rmSync(home, { recursive: true, force: true });
}

/**
 * To choose its binary, libsql has Node write the diagnostic report, 6 ms of a start, and asks `detect-libc` besides,
 * which reads a file: that alone is asked.
 */
const cheapTarget: Plugin = {
  name: "cheap-target",
  setup({ onLoad }) {
    onLoad({ filter: /@neon-rs.load.dist.index\.js$/ }, ({ path }) => {
      const dear = "function isGlibc() {";
      const [before, after] = readFileSync(path, "utf8").split(dear);
      if (after === undefined) throw new Error("libsql looks for the C library in another way now");
      return {
        contents: `${before}${dear} return require("detect-libc").familySync() === "glibc";${after}`,
      };
    });
  },
};

/** A development package is part of the program, since users do not have it; what imports one that is not there fails when it runs. */
function packagesOutside(): string[] {
  const manifest = JSON.parse(readFileSync(join(packageDir, "package.json"), "utf8")) as Manifest;
  const { dependencies, peerDependencies, devDependencies } = manifest;
  const missing = Object.keys(devDependencies).filter(
    (name) => !existsSync(join(packageDir, "node_modules", name)),
  );
  const later = Object.keys({ ...dependencies, ...peerDependencies }).filter(
    (name) => !startingPackages.includes(name),
  );
  return [...later, ...missing];
}

type Manifest = Record<
  "dependencies" | "peerDependencies" | "devDependencies",
  Record<string, string>
>;
