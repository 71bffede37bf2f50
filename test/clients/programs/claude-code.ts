import { join } from "node:path";
import { type ClientProgram, toolNamed } from "./program.ts";

/** Through `POST /v1/messages`. */
export const claudeCode: ClientProgram = {
  name: "Claude Code",
  speaksResponses: false,
  packages: ["@anthropic-ai/claude-code@2.1.197"],
  start: ({ url, token, model, home, cache }) => ({
    command: join(cache, "node_modules/.bin/claude"),
    args: [
      ...["-p", "Write a greeting into a file and read it.", "--model", model],
      ...["--allowedTools", "Bash"],
    ],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: token,
      ANTHROPIC_SMALL_FAST_MODEL: model,
      CLAUDE_CONFIG_DIR: home,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
    },
  }),
  callFor(command, view) {
    const name = toolNamed(view, "Bash");
    return name === undefined
      ? undefined
      : { name, args: { command, description: "Runs a command" } };
  },
};
