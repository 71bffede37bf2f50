import { join } from "node:path";
import { agentTask, commandTool, PROMPT } from "./agent-task.ts";
import type { ClientProgram, Place } from "./program.ts";

const FUNCTIONS = `
def run(command: str) -> str:
    "Runs a command"
    import subprocess
    return subprocess.run(command, shell=True, capture_output=True, text=True).stdout
`;

function models({ url, model }: Place): string {
  const entry = { model_id: "portico", model_name: model, api_base: `${url}/v1` };
  // JSON is also valid YAML.
  return JSON.stringify([{ ...entry, api_key_name: "portico", supports_tools: true }]);
}

export const llm: ClientProgram = {
  name: "llm",
  wayIn: "/v1/chat/completions",
  registry: "pip",
  packages: ["llm==0.36"],
  start: (place) => ({
    command: join(place.cache, "bin/llm"),
    args: ["-m", "portico", "--functions", FUNCTIONS, PROMPT],
    env: { LLM_USER_PATH: place.home },
    files: {
      [join(place.home, "extra-openai-models.yaml")]: models(place),
      [join(place.home, "keys.json")]: JSON.stringify({ portico: place.token }),
    },
  }),
  ...agentTask(commandTool("run")),
};
