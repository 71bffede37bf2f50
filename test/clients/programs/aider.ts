import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ClientProgram, Outcome } from "./program.ts";

const FILES = { "one.txt": "first", "two.txt": "second" };

/** Returns an edit in aider's format: the file's name, a fence, the old text, and its replacement. */
function editOf([file, word]: [string, string]): string {
  const edit = ["<<<<<<< SEARCH", "old", "=======", word, ">>>>>>> REPLACE"];
  return [file, "```", ...edit, "```", ""].join("\n");
}

const ANSWER = `I change both files.\n\n${Object.entries(FILES).map(editOf).join("\n")}`;

function findFault({ place }: Outcome): string | undefined {
  const unchanged = Object.entries(FILES).filter(([file, word]) => {
    const path = join(place.dir, file);
    return !existsSync(path) || readFileSync(path, "utf8").trim() !== word;
  });
  return unchanged.length === 0 ? undefined : `the edit of ${unchanged.map(([file]) => file)}`;
}

/** Aider has no tools. The model writes edits as text. */
export const aider: ClientProgram = {
  name: "aider",
  wayIn: "/v1/chat/completions",
  registry: "pip",
  packages: ["aider-chat==0.86.2"],
  start: ({ url, token, model, dir, home, cache }) => ({
    command: join(cache, "bin/aider"),
    args: [
      ...["--model", `openai/${model}`, "--edit-format", "diff", "--yes-always", "--no-git"],
      ...["--no-check-update", "--analytics-disable", "--no-show-model-warnings"],
      ...["--no-show-release-notes", "--no-detect-urls", "--map-tokens", "0"],
      ...["--message", "Change both files.", ...Object.keys(FILES)],
    ],
    env: {
      HOME: home,
      OPENAI_API_BASE: `${url}/v1`,
      OPENAI_API_KEY: token,
      LITELLM_LOCAL_MODEL_COST_MAP: "True",
    },
    files: Object.fromEntries(Object.keys(FILES).map((file) => [join(dir, file), "old\n"])),
  }),
  act: () => ({ answer: { text: ANSWER.match(/[\s\S]{1,20}/g)! } }),
  findFault,
};
