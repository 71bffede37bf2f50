import { join } from "node:path";
import { type ClientProgram, toolNamed } from "./program.ts";

/** Through `POST /v1/responses`. */
export const codex: ClientProgram = {
  name: "Codex CLI",
  speaksResponses: true,
  packages: ["@openai/codex@0.171.0"],
  start: ({ url, token, model, dir, home, cache }) => ({
    command: join(cache, "node_modules/.bin/codex"),
    args: [
      ...["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"],
      ...["-C", dir, "-m", model, "-c", 'model_provider="portico"'],
      ...[
        "-c",
        `model_providers.portico={name="Portico",base_url="${url}/v1",env_key="PORTICO_TOKEN",wire_api="responses"}`,
      ],
      "Write a greeting into a file and read it.",
    ],
    env: { CODEX_HOME: home, PORTICO_TOKEN: token },
  }),
  callFor(command, view, { dir }) {
    const name = toolNamed(view, "exec_command", "shell_command", "shell", "local_shell");
    if (name === undefined) return undefined;
    if (name === "exec_command") return { name, args: { cmd: command, workdir: dir } };
    if (name === "shell_command") return { name, args: { command, workdir: dir } };
    return { name, args: { command: ["bash", "-lc", command] } };
  },
};

/** With a model for which Codex brings its tools in an `additional_tools` item, and runs JavaScript that the model writes. */
export const codexWithCode: ClientProgram = {
  ...codex,
  name: "Codex CLI, a model that it knows",
  model: "gpt-6.1-sol",
  callFor(command, view) {
    const name = view.tools.find((tool) => tool.endsWith("exec"));
    const input = `text(await tools.exec_command({ cmd: ${JSON.stringify(command)} }));`;
    return name === undefined ? undefined : { name, args: { input } };
  },
};
