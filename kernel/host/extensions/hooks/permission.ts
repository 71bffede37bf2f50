/** Decides whether a hook may run, by its settings, its requirements, and the approval of its owner. */
import { join } from "node:path";
import type { ExtensionDirectory } from "../discover.ts";
import { errors } from "../errors.ts";
import type { DisabledReason } from "../slot.ts";
import { openApprovals } from "./approvals.ts";
import { type HookCandidate, readHook, type Role } from "./candidate.ts";
import { createMetaReader } from "./meta-cache.ts";
import { missingRequirements } from "./requirements.ts";
import type { HookHostOptions } from "./settings.ts";

type PermissionOptions = Pick<HookHostOptions, "paths" | "env" | "loader" | "settings" | "lookup">;

/** Only the owner writes to these roots. */
const trustedRoots = ["bundled", "extra", "managed"];

export function createPermission({ paths, env, loader, settings, lookup }: PermissionOptions) {
  const approvals = openApprovals(join(paths.state, "hook-approvals.json"));
  const readMeta = createMetaReader(paths);
  const entry = (name: string) => settings().entries[name] ?? {};

  const needsApproval = ({ root }: Pick<ExtensionDirectory, "root">) =>
    settings().trust === "approved" && !trustedRoots.includes(root.name);
  const mayRun = (candidate: HookCandidate) =>
    !needsApproval(candidate) || approvals.isApproved(candidate.dir, candidate.fingerprint);
  const isOn = (name: string, { meta }: HookCandidate) =>
    entry(name).enabled ?? meta?.enabled ?? true;

  /** Returns the requirements that are not met, one line each. */
  function listMissing(name: string, { meta }: HookCandidate): string[] {
    // Existing packs use this name for the workspace, which always exists.
    const setting = (key: string) => (key === "workspace.dir" ? paths.workspace : lookup(key));
    return meta ? missingRequirements(meta, { ...env(), ...entry(name).env }, setting) : [];
  }

  function whyDisabled(name: string, candidate: HookCandidate): DisabledReason | undefined {
    if (!mayRun(candidate)) {
      const reason = `its content is not approved: review it, then run \`portico hooks approve ${name}\``;
      return { state: "unapproved", reasons: [reason] };
    }
    if (!settings().enabled)
      return { state: "disabled", reasons: ["hooks.enabled is false in the configuration"] };
    if (!isOn(name, candidate))
      return {
        state: "disabled",
        reasons: [`it is disabled: enable it with \`portico hooks enable ${name}\``],
      };
    const unmet = listMissing(name, candidate);
    return unmet.length ? { state: "ineligible", reasons: unmet } : undefined;
  }

  /** Approves the content that is on disk now. */
  async function approve(candidate: HookCandidate): Promise<void> {
    const current = await readHook(candidate, { loader, readMeta, includesPackages: true });
    if (current.fingerprint !== undefined && !current.refused)
      return approvals.approve(current.dir, current.fingerprint);
    const why = current.refused ?? current.problem?.message ?? "its content cannot be read";
    throw errors.cannotBeApproved({ name: current.name, why });
  }

  /** Returns the limits of a hook; `hooks.entries` overrides HOOK.md. */
  function limitsOf(name: string, { priority = 0, timeoutMs = 5000 }: Partial<Role> = {}) {
    return {
      priority: entry(name).priority ?? priority,
      timeoutMs: entry(name).timeoutMs ?? timeoutMs,
    };
  }

  return {
    read: (directory: ExtensionDirectory) =>
      readHook(directory, { loader, readMeta, includesPackages: needsApproval(directory) }),
    mayRun,
    isEnabled: (name: string, candidate: HookCandidate): boolean =>
      settings().enabled && isOn(name, candidate),
    limitsOf,
    missing: listMissing,
    whyDisabled,
    approve,
  };
}
export type Permission = ReturnType<typeof createPermission>;
