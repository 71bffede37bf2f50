/** The commands in READMEs: those in code blocks, and `portico …` in the text. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { packageDir } from "../gateway.ts";

export interface ReadmeCommand {
  readme: string;
  /** The command as it is written, with continued lines joined. */
  text: string;
  /** `shell`: to be typed as written. `recorded`: followed by its output. `inline`: named in the text. */
  kind: "shell" | "recorded" | "inline";
}

const SHELL = ["", "sh", "bash"];

const GUIDES = "plugins/docs/guides/";

/** Returns the paths of all READMEs in the package, including the guides of the documentation. */
export function readmes(): string[] {
  const nestedFiles = ["examples", "hooks", "kernel", "plugins"].flatMap((room) =>
    readdirSync(join(packageDir, room), { recursive: true, encoding: "utf8" }).map((path) =>
      join(room, path),
    ),
  );
  const isPage = (path: string) =>
    basename(path) === "README.md" || (path.startsWith(GUIDES) && path.endsWith(".md"));
  return ["README.md", ...nestedFiles].filter(isPage).sort();
}

export const readmeCommands = (): ReadmeCommand[] =>
  readmes().flatMap((readme) => commandsOf(readme, readFileSync(join(packageDir, readme), "utf8")));

function commandsOf(readme: string, text: string): ReadmeCommand[] {
  const commands: ReadmeCommand[] = [];
  const prose = text.replace(
    /^( *)```(\w*)\n([\s\S]*?)^ *```/gm,
    (_all, indent: string, language = "", block = "") => {
      const lines = (block as string).replaceAll(/\\\n\s*/g, " ").split("\n");
      const plain = lines.map((line) =>
        line.startsWith(indent) ? line.slice(indent.length) : line,
      );
      for (const line of plain) {
        if (SHELL.includes(language) && line.trim() !== "" && !line.startsWith("#"))
          commands.push({ readme, text: withoutComment(line), kind: "shell" });
        if (language === "console" && line.startsWith("$ "))
          commands.push({ readme, text: line.slice(2), kind: "recorded" });
      }
      return "";
    },
  );
  for (const [, command = ""] of prose.matchAll(/`(portico [^`]*)`/g))
    commands.push({ readme, text: command.replaceAll(/\s+/g, " "), kind: "inline" });
  return commands;
}

const withoutComment = (line: string) => line.replace(/\s+# .*$/, "");

/** Splits a simple command into words without their quotes. */
export function wordsOf(command: string): string[] {
  return [...command.matchAll(/(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s"']+))/g)].map(
    ([, double, single, bare]) => double?.replaceAll(/\\(.)/g, "$1") ?? single ?? bare ?? "",
  );
}
