/** Everything that goes by one hook name: who claims it, which version runs, how it has been doing. */
import type { Logger } from "../../types.ts";
import type { Activation } from "./activation.ts";
import type { Candidate } from "../on-disk/candidate.ts";
import type { Ring } from "./hook-log.ts";
import type { Problem } from "../problem.ts";
import type { Health } from "./runner.ts";

/** Why a claim is not to run, though nothing is wrong with it. */
export type Barred = { state: "disabled" | "ineligible" | "refused" | "unapproved"; reasons: string[] };

export interface Slot {
  name: string;
  /** Highest first. A directory that claims a name twice in its root stands in `doubles`. */
  claims: Candidate[];
  doubles: Candidate[];
  /** The claim in force: the highest that is not waiting for approval. */
  top?: Candidate;
  barred: Map<Candidate, Barred>;
  active?: Activation;
  /** Why the claim in force does not run in its newest version. */
  error?: Problem;
  /** The content that failed after it compiled: not tried again until it changes. */
  failedVersion?: string;
  generation: number;
  health: Health;
  ring: Ring;
  log: Logger;
}

/** Claims to names: within one root the directory that bears the name itself comes first, else the first by name. */
export function groupByName(
  candidates: readonly Candidate[],
): Map<string, { claims: Candidate[]; doubles: Candidate[] }> {
  const groups = new Map<string, { claims: Candidate[]; doubles: Candidate[] }>();
  const ordered = [...candidates].sort(
    (a, b) =>
      b.root.rank - a.root.rank ||
      Number(b.dir.endsWith(`/${b.name}`)) - Number(a.dir.endsWith(`/${a.name}`)) ||
      (a.dir < b.dir ? -1 : 1),
  );
  for (const candidate of ordered) {
    const group = groups.get(candidate.name) ?? { claims: [], doubles: [] };
    groups.set(candidate.name, group);
    const holder = group.claims.find((claim) => claim.root.dir === candidate.root.dir);
    if (!holder) {
      group.claims.push(candidate);
      continue;
    }
    candidate.problem = {
      message: `the name ${candidate.name} is taken by ${holder.dir} in the same root: give one of them another name`,
      file: `${candidate.dir}/HOOK.md`,
    };
    group.doubles.push(candidate);
  }
  return groups;
}
