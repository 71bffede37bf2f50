/**
 * Decides what a principal may use. Every turn, tool call and MCP call gets an `Access` and asks it, instead of
 * interpreting session names. It is an allow-list: everything else is refused.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { partsOf, type Principal, type PrincipalKind, type Tool } from "portico";
import { fitsPattern } from "portico/strings";
import type { Grant } from "./grants.ts";

/** The grant from the owner's configuration, and the directory that holds the principal's files. */
export interface AccessOptions {
  principal: Principal;
  /**
   * Undefined if no entry has the principal's name. The principal then has the rights that all principals of its kind
   * have.
   */
  grant: Grant | undefined;
  /** The gateway's `state` directory. */
  stateDir: string;
}

export interface Access {
  readonly principal: Principal;
  readonly isOwner: boolean;
  /** True if the configuration has an entry for the principal, and always for the owner and `outside`. */
  readonly isKnown: boolean;
  /** Returns whether the principal's turns have the tool. */
  mayUseTool(tool: Pick<Tool, "name" | "principals">): boolean;
  /** The directory of the principal's files and notes; undefined for the owner, whose files are in the workspace. */
  readonly ownDirectory: string | undefined;
  /** The names of the workspace files that the system prompt of the principal's turns contains. */
  readonly workspaceFiles: readonly string[];
  /**
   * `host`: the owner's browsers, profiles and nodes; `own`: a separate browser context that reaches public addresses
   * only.
   */
  readonly browser: "host" | "own";
  /**
   * `configured`: the addresses that the settings allow; `public`: public addresses only, regardless of exemptions in
   * the settings.
   */
  readonly network: "configured" | "public";
  /** Patterns of the sessions that the principal may list and read. */
  readonly sessions: readonly string[];
  maySeeSession(session: string): boolean;
  /** True if results may be posted to the main session when a turn asks for that. */
  readonly mayAnnounce: boolean;
}

/** Files that define how the agent behaves. */
const SHARED_FILES = ["AGENTS.md", "SOUL.md"];
/** The shared files, and those with the agent's knowledge about the owner. */
const OWNERS_FILES = ["AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md", "MEMORY.md"];

export function decideAccess({
  principal,
  grant: configuredGrant,
  stateDir,
}: AccessOptions): Access {
  const isOwner = principal === "owner";
  const grant = configuredGrant ?? {};
  const sessions = sessionsOf(principal, grant);
  return {
    principal,
    isOwner,
    isKnown: configuredGrant !== undefined || partsOf(principal) === undefined,
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

/**
 * Returns the directory of a principal's files. Its name is a digest, because a principal's name may contain any
 * characters.
 */
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

/** Returns patterns of the sessions under the principal's own name, and those that the configuration grants. */
function sessionsOf(principal: Principal, { sessions = [] }: Grant): readonly string[] {
  if (principal === "owner") return ["*"];
  if (principal === "outside") return [];
  return [principal, `${principal}:*`, ...sessions];
}
