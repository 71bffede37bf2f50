/** Decides why a hook must not run: its settings, its requirements, and the approval of its owner. */
import { join } from "node:path";
import type { Found } from "../discover.ts";
import { errors } from "../errors.ts";
import type { DisabledReason } from "../slot.ts";
import { openApprovals } from "./approvals.ts";
import { type HookCandidate, readHook, type Role } from "./candidate.ts";
import { createMetaReader } from "./meta-cache.ts";
import { missingRequirements } from "./requirements.ts";
import type { HookHostOptions } from "./settings.ts";

type PermissionOptions = Pick<HookHostOptions, "paths" | "env" | "loader" | "settings" | "lookup">;

/** The owner alone writes to these roots. */
const trustedRoots = ["bundled", "extra", "managed"];

export function createPermission({ paths, env, loader, settings, lookup }: PermissionOptions) {
  const approvals = openApprovals(join(paths.state, "hook-approvals.json"));
  const readMeta = createMetaReader(paths);
  const entry = (name: string) => settings().entries[name] ?? {};

  const needsApproval = ({ root }: Pick<Found, "root">) =>
    settings().trust === "approved" && !trustedRoots.includes(root.name);
  const mayRun = (candidate: HookCandidate) =>
    !needsApproval(candidate) || approvals.isApproved(candidate.dir, candidate.fingerprint);
  const isOn = (name: string, { meta }: HookCandidate) =>
    entry(name).enabled ?? meta?.enabled ?? true;

  /** The requirements that are not met, one line each. */
  function missing(name: string, { meta }: HookCandidate): string[] {
    // Existing packs name the workspace like this. There always is one.
    const setting = (key: string) => (key === "workspace.dir" ? paths.workspace : lookup(key));
    return meta ? missingRequirements(meta, { ...env(), ...entry(name).env }, setting) : [];
  }

  function whyDisabled(name: string, candidate: HookCandidate): DisabledReason | undefined {
    if (!mayRun(candidate)) {
      const why = `its content is not approved: review it, then run \`portico hooks approve ${name}\``;
      return { state: "unapproved", reasons: [why] };
    }
    if (!settings().enabled)
      return { state: "disabled", reasons: ["hooks.enabled is false in the configuration"] };
    if (!isOn(name, candidate))
      return {
        state: "disabled",
        reasons: [`it is off: turn it on with \`portico hooks enable ${name}\``],
      };
    const lacks = missing(name, candidate);
    return lacks.length ? { state: "ineligible", reasons: lacks } : undefined;
  }

  /** Approves the content that is on disk now. */
  async function approve(candidate: HookCandidate): Promise<void> {
    const now = await readHook(candidate, { loader, readMeta, whole: true });
    if (now.fingerprint !== undefined && !now.refused)
      return approvals.approve(now.dir, now.fingerprint);
    const why = now.refused ?? now.problem?.message ?? "its content cannot be read";
    throw errors.cannotBeApproved({ name: now.name, why });
  }

  /** `hooks.entries` overrides HOOK.md. */
  function limitsOf(name: string, { priority = 0, timeoutMs = 5000 }: Partial<Role> = {}) {
    return {
      priority: entry(name).priority ?? priority,
      timeoutMs: entry(name).timeoutMs ?? timeoutMs,
    };
  }

  return {
    read: (found: Found) => readHook(found, { loader, readMeta, whole: needsApproval(found) }),
    mayRun,
    isEnabled: (name: string, candidate: HookCandidate): boolean =>
      settings().enabled && isOn(name, candidate),
    limitsOf,
    missing,
    whyDisabled,
    approve,
  };
}
export type Permission = ReturnType<typeof createPermission>;
