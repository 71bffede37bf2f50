import { join } from "node:path";
import { agentTask, commandTool, PROMPT } from "./agent-task.ts";
import type { ClientProgram } from "./program.ts";

export const claudeCode: ClientProgram = {
  name: "Claude Code",
  wayIn: "/v1/messages",
  registry: "npm",
  packages: ["@anthropic-ai/claude-code@2.1.197"],
  start: ({ url, token, model, home, cache }) => ({
    command: join(cache, "node_modules/.bin/claude"),
    args: ["-p", PROMPT, "--model", model, "--allowedTools", "Bash"],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: token,
      ANTHROPIC_SMALL_FAST_MODEL: model,
      CLAUDE_CONFIG_DIR: home,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
    },
  }),
  ...agentTask(commandTool("Bash", { description: "Runs a command" })),
};
