/** `portico browser extension`: the directory of the relay's extension, and the values for its options page. */
import { type Command, commandFor, defineCommand } from "portico/command-line";
import { extensionRoutes } from "../relay/routes-schema.ts";
import { SERVER } from "./command.ts";

const path = commandFor<{ path: string; id: string }>(
  "GET /extension",
  { ...extensionRoutes.show, server: SERVER },
  { name: "path", summary: "Print the extension's directory", view: ({ path: dir }) => dir },
);

const pair = commandFor<{ port: number; token: string }>(
  "GET /extension/pair",
  { ...extensionRoutes.pair, server: SERVER },
  {
    name: "pair",
    summary: "Print the port and the token for the extension's options page",
    view: ({ port, token }) => [`port   ${port}`, `token  ${token}`],
  },
);

export const extensionCommand: Command = defineCommand({
  name: "extension",
  summary: "Set up the extension that lets the agent control tabs of your own browser",
  description:
    "Load the directory as an unpacked extension (chrome://extensions, developer mode), enter the port and the token on the " +
    "extension's options page, and click its icon on a tab. A second click detaches the tab.",
  examples: ["portico browser extension path", "portico browser extension pair"],
  commands: [path, pair],
});
