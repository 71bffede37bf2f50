/** All programs, in the order of the table. */
import { aider } from "./aider.ts";
import { claudeCode } from "./claude-code.ts";
import { cline } from "./cline.ts";
import { codex, codexWithCode } from "./codex.ts";
import { continueClis } from "./continue.ts";
import { llm } from "./llm.ts";
import { opencode } from "./opencode.ts";
import { packages } from "./packages.ts";
import type { ClientProgram } from "./program.ts";
import { qwenCodes } from "./qwen-code.ts";
import { withLongPrompt, withRateLimits } from "./trouble.ts";

export const programs: readonly ClientProgram[] = [
  claudeCode,
  codex,
  codexWithCode,
  withRateLimits(claudeCode),
  withLongPrompt(claudeCode, "Prompt is too long"),
  withRateLimits(codex),
  withLongPrompt(codex, "ran out of room in the model's context window"),
  opencode,
  ...qwenCodes,
  cline,
  ...continueClis,
  aider,
  llm,
  ...packages,
];
