import { join } from "node:path";
import { agentTask, PROMPT, toolNamed } from "./agent-task.ts";
import type { ClientProgram, Place } from "./program.ts";

function start({ url, token, model, dir, home, cache }: Place) {
  const provider = `name="Portico",base_url="${url}/v1",env_key="PORTICO_TOKEN",wire_api="responses"`;
  const settings = ['model_provider="portico"', `model_providers.portico={${provider}}`];
  return {
    command: join(cache, "node_modules/.bin/codex"),
    args: [
      ...["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"],
      ...["-C", dir, "-m", model, ...settings.flatMap((setting) => ["-c", setting]), PROMPT],
    ],
    env: { CODEX_HOME: home, PORTICO_TOKEN: token },
  };
}

const common = {
  name: "Codex CLI",
  wayIn: "/v1/responses",
  registry: "npm",
  packages: ["@openai/codex@0.171.0"],
  start,
} as const;

export const codex: ClientProgram = {
  ...common,
  ...agentTask((command, view, { dir }) => {
    const name = toolNamed(view, "exec_command", "shell_command", "shell", "local_shell");
    if (name === undefined) return undefined;
    if (name === "exec_command") return { name, args: { cmd: command, workdir: dir } };
    if (name === "shell_command") return { name, args: { command, workdir: dir } };
    return { name, args: { command: ["bash", "-lc", command] } };
  }),
};

/**
 * Uses a model for which Codex sends its tools in an `additional_tools` item, and runs JavaScript that the model writes.
 */
export const codexWithCode: ClientProgram = {
  ...common,
  variant: "known model",
  model: "gpt-6.1-sol",
  ...agentTask((command, view) => {
    const name = view.tools.find((tool) => tool.endsWith("exec"));
    const input = `text(await tools.exec_command({ cmd: ${JSON.stringify(command)} }));`;
    return name === undefined ? undefined : { name, args: { input } };
  }),
};
