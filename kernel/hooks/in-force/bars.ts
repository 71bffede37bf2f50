/** Why a hook that is there is not to run: its settings, what it requires, and its owner's approval. */
import { join } from "node:path";
import { fingerprint, openApprovals } from "../on-disk/approval.ts";
import type { Candidate } from "../on-disk/candidate.ts";
import { missingRequirements } from "../on-disk/requirements.ts";
import type { HookHostOptions, HookSurroundings } from "../settings.ts";
import type { Barred } from "./slot.ts";

export function createBars(options: HookHostOptions, { env, entry, lookup }: HookSurroundings) {
  const settings = () => options.config.kernel.hooks;
  const approvals = openApprovals(join(options.paths.state, "hook-approvals.json"));

  function whyBarred(name: string, claim: Candidate): Barred | undefined {
    if (claim.refused) return { state: "refused", reasons: [claim.refused] };
    if (!settings().enabled) return { state: "disabled", reasons: ["hooks.enabled is false in the configuration"] };
    if (!(entry(name).enabled ?? claim.meta?.enabled ?? true)) {
      return { state: "disabled", reasons: [`it is off: turn it on with \`portico hooks enable ${name}\``] };
    }
    if (!claim.meta) return undefined;
    const missing = missingRequirements(claim.meta, {
      platform: process.platform,
      env: { ...env, ...entry(name).env },
      lookup,
    });
    return missing.length ? { state: "ineligible", reasons: missing } : undefined;
  }

  async function needsApproval(claim: Candidate): Promise<boolean> {
    if (settings().trust !== "approved" || claim.root.name !== "workspace") return false;
    return !approvals.isApproved(claim.dir, await fingerprintOf(claim));
  }

  async function fingerprintOf(claim: Candidate): Promise<string> {
    const inputs =
      claim.problem || claim.refused
        ? []
        : await options.loader.compile(claim.handler as string).then(
            ({ inputs }) => inputs,
            () => [],
          );
    try {
      return fingerprint(
        claim.realDir,
        inputs.filter((input) => !input.startsWith(`${claim.realDir}/`)),
      );
    } catch {
      return ""; // it is changing under our hands
    }
  }

  return {
    whyBarred,
    needsApproval,
    /** Approves the content that a directory has now. */
    async approve(claim: Candidate): Promise<void> {
      approvals.approve(claim.dir, await fingerprintOf(claim));
    },
  };
}
