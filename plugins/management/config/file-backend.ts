/** The configuration file of a home, whether or not a gateway is running from it. */
import {
  type ConfigDifference,
  type ConfigProblem,
  type ConfigWritten,
  type PortableConfig,
  problemText,
  type VersionInfo,
} from "portico";
import type { CommandIO } from "portico/command-line";
import type { Change, ConfigBackend } from "./change.ts";

/** The state of the configuration in a running gateway after it has read the file. */
interface GatewayView {
  problem: { message: string } | null;
  /** Problems for which it ignores parts of the file. A gateway of an earlier version does not send them. */
  leftOut?: ConfigProblem[];
}

type Refreshed = GatewayView | { failure: Error & { status?: number } };

const REFRESH_MS = 20_000;

export class FileBackend implements ConfigBackend {
  readonly #io: CommandIO;

  constructor(io: CommandIO) {
    this.#io = io;
  }

  async get(key: string | undefined, reveal: boolean): Promise<unknown> {
    return (await this.#file()).get(key, reveal) ?? null;
  }

  async set(key: string, words: string, dryRun: boolean): Promise<Change & { value: unknown }> {
    const file = await this.#file();
    return this.#changeAndRefresh(dryRun, () => file.set(key, words, { dryRun }));
  }

  async unset(key: string, dryRun: boolean): Promise<Change> {
    const file = await this.#file();
    return this.#changeAndRefresh(dryRun, () => file.unset(key, { dryRun }));
  }

  async export(): Promise<PortableConfig> {
    return (await this.#file()).exported();
  }

  async import(configuration: Readonly<Record<string, unknown>>, dryRun: boolean): Promise<Change> {
    const file = await this.#file();
    return this.#changeAndRefresh(dryRun, () => file.import(configuration, { dryRun }));
  }

  async undo(to: number | undefined, dryRun: boolean): Promise<Change> {
    const file = await this.#file();
    return this.#changeAndRefresh(dryRun, () => file.restore(to, { dryRun }));
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
   * Makes a change, and has the gateway that runs from this home apply it before the command ends. If the gateway rejects
   * the change, restores the file, unless it was already invalid: then the change may have fixed one of several problems.
   */
  async #changeAndRefresh<T extends ConfigWritten>(
    dryRun: boolean,
    change: () => Promise<T>,
  ): Promise<Omit<T, "undo"> & Change> {
    const home = this.#io.home();
    if (dryRun || !home.running()) return withoutUndo(await change());
    const before = await this.#refresh();
    const changed = await change();
    const after = await this.#refresh();
    if ("failure" in after) {
      // The change may have replaced the gateway's token, or the gateway may be stopping.
      const { status, message } = after.failure;
      const isTokenReplaced = !("failure" in before) && status === 401;
      if (isTokenReplaced || !home.running()) return withoutUndo(changed);
      const unconfirmed = status === undefined ? "The gateway does not respond." : message;
      return { ...withoutUndo(changed), unconfirmed };
    }
    const rejection = findRejection(before, after);
    if (rejection === undefined) return withoutUndo(changed);
    if ("failure" in before || before.problem)
      throw new Error(`Saved, but the running gateway rejected it: ${rejection}`);
    await changed.undo?.();
    await this.#refresh();
    throw new Error(
      `The running gateway rejected the change, and the file is unchanged: ${rejection}`,
    );
  }

  /** Has the gateway read the file. */
  #refresh(): Promise<Refreshed> {
    return this.#io.gateway
      .request<GatewayView>("POST", "/kernel/config/refresh", undefined, {
        timeoutMs: REFRESH_MS,
      })
      .catch((failure) => ({ failure }));
  }
}

/**
 * Returns the reason why the gateway rejects the change, if it does. The gateway can see more problems than the command,
 * for example with what a user's plugin provides. Problems that it had before do not count against the change.
 */
function findRejection(before: Refreshed, after: GatewayView): string | undefined {
  if (after.problem) return after.problem.message;
  if ("failure" in before) return undefined;
  const knownProblems = new Set(before.leftOut?.map(identityOf));
  const added = (after.leftOut ?? []).filter((problem) => !knownProblems.has(identityOf(problem)));
  return added.length === 0 ? undefined : added.map(problemText).join("; ");
}

/** Identifies a problem without its line, which may differ after a change. */
const identityOf = ({ key, message }: ConfigProblem): string => `${key} ${message}`;

function withoutUndo<T extends ConfigWritten>({ undo: _, ...written }: T) {
  return written;
}
