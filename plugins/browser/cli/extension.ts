/** `portico browser extension`: where the relay's extension lies, and what to enter on its options page. */
import { type Command, type CommandIO, defineCommand } from "portico/command-line";

const ask = <T>(io: CommandIO, path: string): Promise<T> =>
  io.gateway.request<T>("GET", path, undefined, { server: "browser" });

export const extensionCommand: Command = defineCommand({
  name: "extension",
  summary: "The extension with which you hand tabs of your own browser to the agent",
  description:
    "Load the directory as an unpacked extension (chrome://extensions, developer mode), enter port and token on its " +
    "options page, and click its icon on a tab. A second click takes the tab back.",
  examples: ["portico browser extension path", "portico browser extension pair"],
  commands: [
    {
      name: "path",
      summary: "Print the extension's directory",
      async run(io) {
        io.show(await ask<{ path: string; id: string }>(io, "/extension"), ({ path }) => path);
      },
    },
    {
      name: "pair",
      summary: "Print the port and the token for its options page",
      async run(io) {
        io.show(
          await ask<{ port: number; token: string }>(io, "/extension/pair"),
          ({ port, token }) => [`port   ${port}`, `token  ${token}`],
        );
      },
    },
  ],
});
