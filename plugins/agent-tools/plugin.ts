/** The agent's built-in tools: files and memory in its workspace, web pages, and sessions. */
import { definePlugin } from "portico";
import { guardPlaces } from "./files/rules.ts";
import { addFiles } from "./files/tool.ts";
import { addMemory } from "./memory.ts";
import { createPlaces } from "./places.ts";
import { FilesConfig, HooksConfig, SandboxConfig, WebConfig } from "./schema.ts";
import { addSessions } from "./sessions.ts";
import { addWeb } from "./web/tool.ts";

export default definePlugin({
  name: "agent-tools",
  description: "Provides the agent's tools `files`, `memory`, `web` and `sessions`",
  config: {
    "agents.defaults.files": FilesConfig,
    "agents.defaults.sandbox": SandboxConfig,
    "agents.defaults.web": WebConfig,
    hooks: HooksConfig,
  },
  needs: ["store"],
  setup(ctx, config) {
    let settings = config;
    ctx.onConfig((next: typeof config) => {
      settings = next;
    });
    const isSandboxed = () => settings["agents.defaults.sandbox"].mode === "all";
    const places = createPlaces(ctx, { isSandboxed, hookDirs: () => settings.hooks.extraDirs });
    const guardedPlaces = guardPlaces(ctx, places, () => settings["agents.defaults.files"].deny);
    addFiles(ctx, guardedPlaces);
    addMemory(ctx, guardedPlaces);
    addWeb(ctx, () => settings["agents.defaults.web"], isSandboxed);
    addSessions(ctx, isSandboxed);
  },
});
