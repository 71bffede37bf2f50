/** `portico tools`. */
import { commandFor, defineCommand } from "portico/command-line";
import { agentRoutes } from "../routes/routes-schema.ts";

interface ToolList {
  principal: string;
  agent: string;
  tools: {
    name: string;
    description: string;
    allowed: boolean;
    /** Patterns of the calls that wait for the owner's approval. */
    confirm: string[];
    principals: string[];
  }[];
  reach: {
    files: "workspace" | "own";
    workspaceFiles: string[];
    browser: "host" | "own";
    network: "configured" | "public";
    sessions: string[];
    announce: boolean;
  };
}

const WORDS = {
  files: { workspace: "the workspace", own: "a separate directory" },
  browser: {
    host: "the host's browsers, profiles and nodes",
    own: "a separate browser context, without the owner's profiles, tabs and cookies",
  },
  network: { configured: "what the settings allow", public: "public addresses only" },
};

const DESCRIPTION_CHARS = 70;

const list = commandFor<ToolList>("GET /tools", agentRoutes.tools, {
  name: "list",
  summary: "List the tools that the turns of the owner, a client key, a webhook or a poll may use",
  options: {
    as: {
      value: "WHO",
      description:
        "The principal: owner (default), key:NAME, webhook:NAME (a key or a mapping), or poll:NAME",
    },
    agent: { value: "ID", description: "The agent whose settings apply" },
  },
  view: (tools, io) => [...io.table(...tableOf(tools)), "", ...describeReach(tools)],
});

export default defineCommand({
  name: "tools",
  summary: "Show the agent's tools and who may use them",
  commands: [list],
});

function tableOf({ tools }: ToolList): [string[], (string | undefined)[][]] {
  const rows = tools.map(({ name, allowed, confirm, principals, description }) => [
    name,
    allowed ? "yes" : "no",
    confirm.join(" "),
    principals.join(" "),
    firstLine(description),
  ]);
  return [["TOOL", "MAY USE", "NEEDS APPROVAL", "OPEN TO", ""], rows];
}

function firstLine(text: string): string {
  const line = text.split("\n", 1)[0] ?? "";
  return line.length > DESCRIPTION_CHARS ? `${line.slice(0, DESCRIPTION_CHARS - 1)}…` : line;
}

function describeReach({ principal, reach }: ToolList): string[] {
  return [
    `${principal} can reach:`,
    `  files     ${WORDS.files[reach.files]}; its prompts include the workspace's ${reach.workspaceFiles.join(", ")}`,
    `  browser   ${WORDS.browser[reach.browser]}`,
    `  network   ${WORDS.network[reach.network]}`,
    `  sessions  ${reach.sessions.join(", ") || "only the session of the current turn"}`,
    `  announce  ${reach.announce ? "yes" : "no"}`,
  ];
}
