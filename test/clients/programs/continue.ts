import { join } from "node:path";
import { agentTask, commandTool, PROMPT } from "./agent-task.ts";
import type { ClientProgram, Place, WayIn } from "./program.ts";

function configuration(wayIn: WayIn, { url, token, model }: Place): string {
  const provider = wayIn === "/v1/messages" ? "anthropic" : "openai";
  const entry = { name: "portico", provider, model, apiBase: `${url}/v1`, apiKey: token };
  const models = [{ ...entry, roles: ["chat"], capabilities: ["tool_use"] }];
  return JSON.stringify({ name: "portico", version: "1.0.0", schema: "v1", models });
}

function continueCli(wayIn: WayIn): ClientProgram {
  return {
    name: "Continue CLI",
    wayIn,
    registry: "npm",
    packages: ["@continuedev/cli@1.5.47"],
    start: (place) => ({
      command: join(place.cache, "node_modules/.bin/cn"),
      args: ["--print", "--auto", "--config", join(place.home, "config.yaml"), PROMPT],
      env: {
        HOME: place.home,
        CONTINUE_GLOBAL_DIR: join(place.home, "continue"),
        CONTINUE_TELEMETRY_ENABLED: "0",
      },
      // JSON is also valid YAML.
      files: { [join(place.home, "config.yaml")]: configuration(wayIn, place) },
    }),
    ...agentTask(commandTool("Bash")),
  };
}

export const continueClis = [continueCli("/v1/chat/completions"), continueCli("/v1/messages")];
