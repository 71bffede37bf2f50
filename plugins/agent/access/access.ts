/**
 * What a principal may use: the one place that decides it. Every turn, tool call and MCP call gets an `Access`, and
 * asks that instead of looking at names of sessions. All of it is an allow-list: what is not listed here is refused.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { partsOf, type Principal, type PrincipalKind, type Tool } from "portico";
import { fitsPattern } from "portico/strings";
import type { Grant } from "./grants.ts";

/** What the owner's configuration grants to a principal, and where this machine keeps its files. */
export interface AccessOptions {
  principal: Principal;
  /** Undefined where no entry has the principal's name: it has what every principal of its kind has. */
  grant: Grant | undefined;
  /** The gateway's `state` directory. */
  stateDir: string;
}

export interface Access {
  readonly principal: Principal;
  readonly isOwner: boolean;
  /** The configuration has an entry for it; always true of the owner and of `outside`. */
  readonly isKnown: boolean;
  /** Whether its turns have the tool. */
  mayUseTool(tool: Pick<Tool, "name" | "principals">): boolean;
  /** The directory of its files and notes; undefined for the owner, whose are in the workspace. */
  readonly ownDirectory: string | undefined;
  /** The names of the workspace's files that go into its turns' system prompt. */
  readonly workspaceFiles: readonly string[];
  /** `host`: the owner's browsers, profiles and nodes; `own`: a context of its own, with public addresses only. */
  readonly browser: "host" | "own";
  /** `configured`: what the settings allow; `public`: public addresses only, whatever the settings exempt. */
  readonly network: "configured" | "public";
  /** Patterns of the sessions that it may list and read. */
  readonly sessions: readonly string[];
  maySeeSession(session: string): boolean;
  /** Whether its results may be posted to the main session, where a turn asks for that. */
  readonly mayAnnounce: boolean;
}

/** Files that say how the agent behaves. */
const SHARED_FILES = ["AGENTS.md", "SOUL.md"];
/** The shared files, and what the agent knows about the owner. */
const OWNERS_FILES = ["AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md", "MEMORY.md"];

export function decideAccess({ principal, grant: granted, stateDir }: AccessOptions): Access {
  const isOwner = principal === "owner";
  const grant = granted ?? {};
  const sessions = sessionsOf(principal, grant);
  return {
    principal,
    isOwner,
    isKnown: granted !== undefined || partsOf(principal) === undefined,
    mayUseTool: (tool) => mayUseTool(principal, grant, tool),
    ownDirectory: isOwner ? undefined : ownDirectory(stateDir, principal),
    workspaceFiles: isOwner ? OWNERS_FILES : SHARED_FILES,
    browser: isOwner ? "host" : "own",
    network: isOwner ? "configured" : "public",
    sessions,
    maySeeSession: (session) => sessions.some((pattern) => fitsPattern(pattern, session)),
    mayAnnounce: isOwner || grant.announce === true,
  };
}

/** The directory of a principal's files. Its name is a digest, since a principal's name may hold anything. */
export function ownDirectory(stateDir: string, principal: Principal): string {
  return join(stateDir, "principals", createHash("sha256").update(principal).digest("hex"));
}

export function isKindOfPrincipal(kind: string): kind is PrincipalKind {
  return ["key", "webhook", "poll", "user"].includes(kind);
}

function mayUseTool(
  principal: Principal,
  { tools = [] }: Grant,
  { name, principals = [] }: Pick<Tool, "name" | "principals">,
): boolean {
  if (principal === "owner") return true;
  const parts = partsOf(principal);
  if (parts === undefined) return false;
  return principals.includes(parts.kind) || tools.some((pattern) => fitsPattern(pattern, name));
}

/** The sessions under its own name, and those that the owner's configuration names for it. */
function sessionsOf(principal: Principal, { sessions = [] }: Grant): readonly string[] {
  if (principal === "owner") return ["*"];
  if (principal === "outside") return [];
  return [principal, `${principal}:*`, ...sessions];
}
