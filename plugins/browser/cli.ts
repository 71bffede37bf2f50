import { defineCommand } from "portico/command-line";
import { actCommands } from "./cli/act.ts";
import { PROFILE } from "./cli/command.ts";
import { controlCommands } from "./cli/control.ts";
import { extensionCommand } from "./cli/extension.ts";
import { lookCommands } from "./cli/look.ts";
import { stateCommands } from "./cli/state.ts";

export default defineCommand({
  name: "browser",
  summary: "Control a browser: tabs, snapshots, actions, files and emulation",
  description:
    "Take a snapshot first: it shows the page as text with refs such as 12 or e12, and every action takes a ref. " +
    "All commands take --browser-profile NAME and --json.",
  options: PROFILE,
  examples: [
    "portico browser open https://example.com",
    "portico browser snapshot --efficient",
    'portico browser type 12 "Ada Lovelace" --submit',
  ],
  commands: [
    ...controlCommands,
    ...lookCommands,
    ...actCommands,
    ...stateCommands,
    extensionCommand,
  ],
});
