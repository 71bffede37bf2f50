/** The configuration file of a home, whether or not a gateway runs from it. */
import {
  type ConfigDifference,
  type ConfigProblem,
  type ConfigWritten,
  type PortableConfig,
  problemText,
  type VersionInfo,
} from "portico";
import type { CommandIO } from "portico/command-line";
import type { Change, ConfigDoor } from "./change.ts";

/** What a running gateway makes of the file. */
interface GatewayView {
  problem: { message: string } | null;
  /** What it leaves out of the file, because it is wrong. A gateway of an earlier version does not say. */
  leftOut?: ConfigProblem[];
}

type Refreshed = GatewayView | { failure: Error & { status?: number } };

const REFRESH_MS = 20_000;

export class FileDoor implements ConfigDoor {
  readonly #io: CommandIO;

  constructor(io: CommandIO) {
    this.#io = io;
  }

  async get(key: string | undefined, reveal: boolean): Promise<unknown> {
    return (await this.#file()).get(key, reveal) ?? null;
  }

  async set(key: string, words: string, dryRun: boolean): Promise<Change & { value: unknown }> {
    const file = await this.#file();
    return this.#underGateway(dryRun, () => file.set(key, words, { dryRun }));
  }

  async unset(key: string, dryRun: boolean): Promise<Change> {
    const file = await this.#file();
    return this.#underGateway(dryRun, () => file.unset(key, { dryRun }));
  }

  async export(): Promise<PortableConfig> {
    return (await this.#file()).exported();
  }

  async import(configuration: Readonly<Record<string, unknown>>, dryRun: boolean): Promise<Change> {
    const file = await this.#file();
    return this.#underGateway(dryRun, () => file.import(configuration, { dryRun }));
  }

  async undo(to: number | undefined, dryRun: boolean): Promise<Change> {
    const file = await this.#file();
    return this.#underGateway(dryRun, () => file.restore(to, { dryRun }));
  }

  async versions(): Promise<VersionInfo[]> {
    return (await this.#file()).versions();
  }

  async differences(from?: number, to?: number): Promise<ConfigDifference[]> {
    return (await this.#file()).differences(from, to);
  }

  async validate() {
    const file = await this.#file();
    return { file: file.file, problems: await file.problems() };
  }

  #file() {
    return this.#io.home().config();
  }

  /**
   * A gateway that runs from this home has the change when the command ends, instead of a moment later. Where it refuses
   * the change, the file goes back to what it was, unless something was wrong with it before: one of two faults may be
   * repaired.
   */
  async #underGateway<T extends ConfigWritten>(
    dryRun: boolean,
    change: () => Promise<T>,
  ): Promise<Omit<T, "undo"> & Change> {
    const home = this.#io.home();
    if (dryRun || !home.running()) return withoutUndo(await change());
    const before = await this.#refresh();
    const changed = await change();
    const after = await this.#refresh();
    if ("failure" in after) {
      // The gateway's token may just have been changed, or the gateway may be stopping.
      const { status, message } = after.failure;
      const isTaken = !("failure" in before) && status === 401;
      if (isTaken || !home.running()) return withoutUndo(changed);
      const unconfirmed = status === undefined ? "The gateway does not respond." : message;
      return { ...withoutUndo(changed), unconfirmed };
    }
    const rejection = rejectionOf(before, after);
    if (rejection === undefined) return withoutUndo(changed);
    if ("failure" in before || before.problem)
      throw new Error(`Saved, but the running gateway rejected it: ${rejection}`);
    await changed.undo?.();
    await this.#refresh();
    throw new Error(
      `The running gateway rejected the change, and the file is unchanged: ${rejection}`,
    );
  }

  /** Lets the gateway read the file. */
  #refresh(): Promise<Refreshed> {
    return this.#io.gateway
      .request<GatewayView>("POST", "/kernel/config/refresh", undefined, {
        timeoutMs: REFRESH_MS,
      })
      .catch((failure) => ({ failure }));
  }
}

/**
 * Why the gateway does not take the change. It knows more than the file says: what a user's plugin provides, for one.
 * What it left out before says nothing against the change.
 */
function rejectionOf(before: Refreshed, after: GatewayView): string | undefined {
  if (after.problem) return after.problem.message;
  if ("failure" in before) return undefined;
  const known = new Set(before.leftOut?.map(identityOf));
  const added = (after.leftOut ?? []).filter((problem) => !known.has(identityOf(problem)));
  return added.length === 0 ? undefined : added.map(problemText).join("; ");
}

/** The same problem may move to another line. */
const identityOf = ({ key, message }: ConfigProblem): string => `${key} ${message}`;

function withoutUndo<T extends ConfigWritten>({ undo: _, ...written }: T) {
  return written;
}
