import { join } from "node:path";
import { agentTask, commandTool, PROMPT } from "./agent-task.ts";
import type { ClientProgram, WayIn } from "./program.ts";

const AUTH: Record<WayIn, string> = {
  "/v1/chat/completions": "openai",
  "/v1/messages": "anthropic",
  "/v1/responses": "openai-responses",
};

/** Qwen Code needs a newer Node than the gateway, which is installed as a package. */
function qwenCode(wayIn: WayIn): ClientProgram {
  const base = (url: string) => (wayIn === "/v1/messages" ? url : `${url}/v1`);
  return {
    name: "Qwen Code",
    wayIn,
    registry: "npm",
    packages: ["@qwen-code/qwen-code@0.24.4", "node@22.22.3"],
    start: ({ url, token, model, home, cache }) => ({
      command: join(cache, "node_modules/.bin/node"),
      args: [
        join(cache, "node_modules/.bin/qwen"),
        ...["--yolo", "--auth-type", AUTH[wayIn], "--model", model, PROMPT],
      ],
      env: {
        HOME: home,
        OPENAI_API_KEY: token,
        OPENAI_BASE_URL: base(url),
        OPENAI_MODEL: model,
        ANTHROPIC_API_KEY: token,
        ANTHROPIC_BASE_URL: base(url),
        ANTHROPIC_MODEL: model,
      },
    }),
    ...agentTask(
      commandTool("run_shell_command", { description: "Runs it", is_background: false }),
    ),
  };
}

export const qwenCodes = [
  qwenCode("/v1/chat/completions"),
  qwenCode("/v1/responses"),
  qwenCode("/v1/messages"),
];
