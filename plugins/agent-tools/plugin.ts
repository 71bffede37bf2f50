/** The agent's own tools: files and memory of its workspace, pages of the web, and sessions. */
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
    let now = config;
    ctx.onConfig((next: typeof config) => {
      now = next;
    });
    const isSandboxed = () => now["agents.defaults.sandbox"].mode === "all";
    const places = createPlaces(ctx, { isSandboxed, hookDirs: () => now.hooks.extraDirs });
    const guarded = guardPlaces(ctx, places, () => now["agents.defaults.files"].deny);
    addFiles(ctx, guarded);
    addMemory(ctx, guarded);
    addWeb(ctx, () => now["agents.defaults.web"], isSandboxed);
    addSessions(ctx, isSandboxed);
  },
});
