/** The commands that the READMEs show: those of their blocks, and `portico …` in their text. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { packageDir } from "../gateway.ts";

export interface ReadmeCommand {
  readme: string;
  /** As it is written; over several lines where these are joined. */
  text: string;
  /** `shell`: to be typed as it stands. `recorded`: with what it answered. `inline`: named in the text. */
  kind: "shell" | "recorded" | "inline";
}

const SHELL = ["", "sh", "bash"];

const GUIDES = "plugins/docs/guides/";

/** Their paths in the package; the guides of the documentation are among them. */
export function readmes(): string[] {
  const below = ["examples", "hooks", "kernel", "plugins"].flatMap((room) =>
    readdirSync(join(packageDir, room), { recursive: true, encoding: "utf8" }).map((path) =>
      join(room, path),
    ),
  );
  const isPage = (path: string) =>
    basename(path) === "README.md" || (path.startsWith(GUIDES) && path.endsWith(".md"));
  return ["README.md", ...below].filter(isPage).sort();
}

export const readmeCommands = (): ReadmeCommand[] =>
  readmes().flatMap((readme) => commandsOf(readme, readFileSync(join(packageDir, readme), "utf8")));

function commandsOf(readme: string, text: string): ReadmeCommand[] {
  const found: ReadmeCommand[] = [];
  const prose = text.replace(
    /^( *)```(\w*)\n([\s\S]*?)^ *```/gm,
    (_all, indent: string, language = "", block = "") => {
      const lines = (block as string).replaceAll(/\\\n\s*/g, " ").split("\n");
      const plain = lines.map((line) =>
        line.startsWith(indent) ? line.slice(indent.length) : line,
      );
      for (const line of plain) {
        if (SHELL.includes(language) && line.trim() !== "" && !line.startsWith("#"))
          found.push({ readme, text: withoutComment(line), kind: "shell" });
        if (language === "console" && line.startsWith("$ "))
          found.push({ readme, text: line.slice(2), kind: "recorded" });
      }
      return "";
    },
  );
  for (const [, command = ""] of prose.matchAll(/`(portico [^`]*)`/g))
    found.push({ readme, text: command.replaceAll(/\s+/g, " "), kind: "inline" });
  return found;
}

const withoutComment = (line: string) => line.replace(/\s+# .*$/, "");

/** The words of a simple command, quotes taken away. */
export function wordsOf(command: string): string[] {
  return [...command.matchAll(/(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s"']+))/g)].map(
    ([, double, single, bare]) => double?.replaceAll(/\\(.)/g, "$1") ?? single ?? bare ?? "",
  );
}
