import { join } from "node:path";
import { agentTask, PROMPT, toolNamed } from "./agent-task.ts";
import type { ClientProgram, Place } from "./program.ts";

const PROVIDER = "openai-compatible";

function settings({ url, token, model }: Place): string {
  const providerSettings = { provider: PROVIDER, apiKey: token, model, baseUrl: `${url}/v1` };
  const entry = {
    settings: providerSettings,
    tokenSource: "manual",
    updatedAt: "2026-01-01T00:00:00.000Z",
  };
  return JSON.stringify({
    version: 1,
    lastUsedProvider: PROVIDER,
    modes: {},
    providers: { [PROVIDER]: entry },
  });
}

export const cline: ClientProgram = {
  name: "Cline CLI",
  wayIn: "/v1/chat/completions",
  registry: "npm",
  packages: ["cline@3.0.65"],
  start: (place) => ({
    command: join(place.cache, "node_modules/.bin/cline"),
    args: [
      ...["--data-dir", join(place.home, "data"), "--cwd", place.dir],
      ...["--provider", PROVIDER, "--model", place.model, PROMPT],
    ],
    env: { HOME: place.home },
    files: { [join(place.home, "data/settings/providers.json")]: settings(place) },
  }),
  ...agentTask((command, view) => {
    const name = toolNamed(view, "run_commands", "execute_command", "bash");
    if (name === undefined) return undefined;
    if (name === "run_commands") return { name, args: { commands: [command] } };
    return { name, args: { command } };
  }),
};
