/** The configuration of the tools. */
import { type Static, timerMs, Type } from "portico";

export const WebConfig = Type.Object(
  {
    allowPrivateNetwork: Type.Boolean({
      default: false,
      description:
        "Whether pages on private networks may be fetched too. A sandboxed session never fetches such pages.",
    }),
    allowedHostnames: Type.Array(Type.String(), {
      default: [],
      description:
        "Host names that may resolve to private addresses even if allowPrivateNetwork is false; *.example.com stands for all subdomains of example.com.",
    }),
    hostnameAllowlist: Type.Array(Type.String(), {
      default: [],
      description: "If this list is not empty, only these hosts can be fetched.",
    }),
    maxBytes: Type.Integer({
      default: 5_000_000,
      minimum: 1,
      description: "The largest size of one page, in bytes.",
    }),
    timeoutMs: timerMs({ default: 30_000 }),
  },
  { description: "Settings of the agent's tool `web`." },
);

/** Files that other programs run or read as settings: version control, shells, editors and their tasks. */
const DEFAULT_DENIED = [
  ".git/hooks",
  ".git/config",
  ".git/info/attributes",
  ".gitmodules",
  ".gitattributes",
  ".husky",
  ".githooks",
  ".pre-commit-config.y*ml",
  "lefthook.y*ml",
  ".lefthook.y*ml",
  ".env*",
  ".vscode",
  ".idea",
  ".fleet",
  ".zed",
  ".cursor",
  ".claude",
  ".devcontainer",
  ".devcontainer.json",
  "*.code-workspace",
  "*.sublime-project",
  ".dir-locals.el",
  ".exrc",
  ".nvimrc",
  ".nvim.lua",
  ".vimrc",
  ".mise.toml",
  "mise.toml",
  ".tool-versions",
];

export const FilesConfig = Type.Object(
  {
    deny: Type.Array(Type.String({ minLength: 1 }), {
      default: DEFAULT_DENIED,
      description:
        "Paths that the agent may neither read nor write; `*` stands for any text in a name. A pattern without `/` matches a name at any depth. This list replaces the default list.",
    }),
  },
  { default: {}, description: "Settings of the agent's tools `files` and `memory`." },
);

/** The part of the agent's section that the tools read. */
export const SandboxConfig = Type.Object({
  mode: Type.Union([Type.Literal("off"), Type.Literal("all")], { default: "off" }),
});

/** The part of the gateway's section that the tools read. */
export const HooksConfig = Type.Object({ extraDirs: Type.Array(Type.String(), { default: [] }) });

export type WebSettings = Static<typeof WebConfig>;
