import { join } from "node:path";
import { agentTask, commandTool, PROMPT } from "./agent-task.ts";
import type { ClientProgram, Place } from "./program.ts";

function configuration({ url, token, model }: Place): string {
  return JSON.stringify({
    autoupdate: false,
    share: "disabled",
    permission: { bash: "allow" },
    provider: {
      portico: {
        npm: "@ai-sdk/openai-compatible",
        options: { baseURL: `${url}/v1`, apiKey: token },
        models: { [model]: { tool_call: true } },
      },
    },
  });
}

export const opencode: ClientProgram = {
  name: "opencode",
  wayIn: "/v1/chat/completions",
  registry: "npm",
  packages: ["opencode-ai@1.18.33"],
  start: (place) => ({
    command: join(place.cache, "node_modules/.bin/opencode"),
    args: ["run", "--model", `portico/${place.model}`, PROMPT],
    env: {
      HOME: place.home,
      XDG_DATA_HOME: join(place.home, "data"),
      XDG_CONFIG_HOME: join(place.home, "config"),
      XDG_CACHE_HOME: join(place.home, "cache"),
      OPENCODE_CONFIG: join(place.home, "opencode.json"),
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
    },
    files: { [join(place.home, "opencode.json")]: configuration(place) },
  }),
  ...agentTask(commandTool("bash", { description: "Runs a command" })),
};
