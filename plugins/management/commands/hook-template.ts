/** The files that `portico hooks new` writes. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EventOutline } from "portico";
import { writeDirectory } from "./write-directory.ts";

export interface NewHook {
  name: string;
  events: readonly { name: string; outline?: EventOutline }[];
  description?: string;
  /** JavaScript with JSDoc instead of TypeScript. */
  script?: boolean;
}

/** Returns the files of a working hook, by name. */
export function hookFiles(hook: NewHook): Record<string, string> {
  return {
    "HOOK.md": descriptorText(hook),
    [hook.script ? "handler.js" : "handler.ts"]: handlerText(hook),
  };
}

/** Writes a hook below `root`, and a `tsconfig.json` for editors unless the user has one. Returns the hook's directory. */
export function writeHook(root: string, editorConfig: string, hook: NewHook): string {
  const dir = join(root, hook.name);
  writeDirectory(dir, hookFiles(hook));
  const config = join(root, "tsconfig.json");
  if (!existsSync(config) || isStale(config, editorConfig))
    writeFileSync(config, editorConfig, { mode: 0o600 });
  return dir;
}

/**
 * True if an installation in another directory wrote the file, so that an editor finds no types. Any other difference is
 * the user's own edit.
 */
function isStale(file: string, editorConfig: string): boolean {
  const withoutDirectories = (text: string) =>
    text.replace(/"(?:[^"]*\/)?(\.build\/types\/|node_modules\/@types)/g, '"$1');
  const existing = readFileSync(file, "utf8");
  return (
    existing !== editorConfig && withoutDirectories(existing) === withoutDirectories(editorConfig)
  );
}

function descriptorText({ name, events, description }: NewHook): string {
  return `---
name: ${name}
description: ${JSON.stringify(description ?? `Runs on ${events.map((event) => event.name).join(", ")}`)}
events: [${events.map((event) => event.name).join(", ")}]
# priority: 0          # higher runs first
# timeoutMs: 5000      # deadline of one call
# requires:
#   bins: [git]        # programs on the PATH
#   env: [MY_TOKEN]    # environment variables; the handler gets them as ctx.env
#   config: [cron]     # keys that the configuration must set
---

# ${name}

What this hook is for. Its options stand in portico.json, under hooks.entries.${name}; the handler gets them as ctx.config.

- try it: \`portico hooks run ${name}\`
- its lines: \`portico hooks logs ${name}\`
- its state: \`portico hooks info ${name}\`
`;
}

function handlerText({ name, events, script }: NewHook): string {
  const isTyped = events.every((event) => event.outline);
  const union = events.map((event) => JSON.stringify(event.name)).join(" | ");
  const type = isTyped ? `HookHandler<${union}>` : "HookHandler";
  return `${script ? "// @ts-check\n" : 'import type { HookHandler } from "portico";\n'}
/**
${events.map((event) => ` * ${event.name}: ${event.outline?.description ?? "an event that no plugin has declared."}`).join("\n")}
 *
 * A saved change is active at once. If the new version cannot be loaded, the old one stays active, and \`portico hooks info ${name}\` says why.
 *
 * event: name, sessionKey, timestamp, context, messages
 * ctx:   log, config, env, signal (aborted at the deadline), unloaded (aborted when this version is replaced),
 *        paths, kv (get, set, delete, list), chat(text) asks a model, emit(name, context)
${script ? ` *\n * @type {import("portico").${type}}\n` : ""} */
const handler${script ? "" : `: ${type}`} = async (event, ctx) => {
  ctx.log.info({ session: event.sessionKey, context: event.context }, \`saw \${event.name}\`);
${events
  .map(({ outline }) => hintsFor(outline))
  .filter((text, at, all) => text && all.indexOf(text) === at)
  .join("")}};

export default handler;
`;
}

function hintsFor(outline: EventOutline | undefined): string {
  const lines: string[] = [];
  const [first] = outline?.changes ?? [];
  if (outline?.changes?.length) {
    lines.push(
      `This event lets you change ${outline.changes.map((field) => `event.context.${field}`).join(" and ")}:`,
    );
    if (first === "content") lines.push("  event.context.content = event.context.content.trim();");
    else if (first === "bootstrapFiles") {
      lines.push(
        '  event.context.bootstrapFiles.push({ name: "NOTE.md", path: "NOTE.md", content: "…", missing: false });',
      );
    } else if (first === "request") lines.push("  event.context.request.temperature = 0;");
  }
  const effects = outline?.effects ?? (outline?.mode === "answer" ? ["reply", "block"] : []);
  if (effects.includes("reply"))
    lines.push("You can answer at once, without any model:", '  return { reply: "Hello." };');
  if (effects.includes("block"))
    lines.push("You can refuse, with the reason:", '  return { block: "Not today." };');
  return lines.map((line) => `  // ${line}\n`).join("");
}
