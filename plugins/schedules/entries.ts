/** The schedules of one kind, as the plugin that owns the kind keeps them: its own in the configuration, others beside. */
import { randomBytes } from "node:crypto";
import type { PorticoError } from "portico";
import type { NewSchedule, Run, Schedule, Store } from "portico/store";
import { errors } from "./errors.ts";

/** A schedule with its parts typed by its owner. */
export interface ScheduleEntry {
  row: Schedule;
  /** `anchorMs`: what an interval counts from; epoch ms. */
  body: { anchorMs: number };
  /** `configured`: for one of the configuration, its definition as it was read, to see a change. */
  state: { configured?: string };
}

/** Either of these may enable or disable something; `status` wins. */
export interface EnabledOrNot {
  status?: "enabled" | "disabled";
  enabled?: boolean;
}

export interface Definition<E extends ScheduleEntry> {
  id: string;
  body: E["body"];
  enabled: boolean;
  /** What is there under this name, with its definition of before. */
  entry: E | undefined;
  now: number;
}

export interface ScheduleEntriesOptions<G extends EnabledOrNot, E extends ScheduleEntry> {
  store(): Store;
  /** The kind in the store. */
  kind: string;
  /** What messages call one of them: `cron job`. */
  noun: string;
  /** The command line that lists them. */
  listedBy: string;
  /** Where the configuration has them by name: `cron.jobs`. */
  section: string;
  read(row: Schedule): E;
  isConfigured(body: E["body"]): boolean;
  /** A definition of the configuration as it is stored. Throws where it is wrong. */
  bodyOf(definition: G, anchorMs: number): E["body"];
  /** When a definition of the configuration that is new or has changed comes due, and with which state. */
  place(
    definition: Definition<E>,
  ): Pick<NewSchedule, "enabled" | "nextAt" | "cursor"> & { state: E["state"] };
  /** Called after each change: due times may have moved. */
  changed(): void;
}

/** True where enabled is asked for, by either of its two spellings. */
export const wantsEnabled = (definition: EnabledOrNot, otherwise: boolean): boolean =>
  definition.status !== undefined
    ? definition.status === "enabled"
    : (definition.enabled ?? otherwise);

/** A short id that a person can type: `job_Ab3dEf6hIj9k`. */
const newEntryId = (prefix: string): string =>
  `${prefix}_${randomBytes(9).toString("base64url").replace(/[-_]/g, "0")}`;

/** Milliseconds since 1970 as ISO 8601, `null` for none, and for what is no date. */
export const isoDate = (ms: number | null | undefined): string | null =>
  typeof ms === "number" && Number.isFinite(new Date(ms).getTime())
    ? new Date(ms).toISOString()
    : null;

/**
 * A change as JSON merge patches have it: `null` takes away what is `removable` (it is `undefined` in the result), and is
 * refused for anything else. `parse` checks the rest.
 */
export function mergePatch<C extends object>(
  parse: (value: unknown) => C,
  patch: unknown,
  removable: readonly (keyof C & string)[],
): C {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return parse(patch);
  const members = Object.entries(patch);
  const isRemoved = ([key, value]: [string, unknown]) =>
    value === null && removable.some((name) => name === key);
  const rest = parse(Object.fromEntries(members.filter((member) => !isRemoved(member))));
  const refused = members.find((member) => member[1] === null && !isRemoved(member))?.[0];
  if (refused !== undefined) throw errors.notRemovable({ field: refused }, { param: refused });
  return {
    ...rest,
    ...Object.fromEntries(members.filter(isRemoved).map(([key]) => [key, undefined])),
  };
}

/** As a JSON body would bring it: without `undefined` members, at any depth. */
export const asBody = (value: Record<string, unknown>): Record<string, unknown> =>
  JSON.parse(JSON.stringify(value));

/** Opens the schedules of one kind. */
export function createScheduleEntries<G extends EnabledOrNot, E extends ScheduleEntry>(
  options: ScheduleEntriesOptions<G, E>,
): ScheduleEntries<G, E> {
  return new ScheduleEntries(options);
}

/** The operations are properties, so that an owner can spread them beside its own and pass them on singly. */
export class ScheduleEntries<G extends EnabledOrNot, E extends ScheduleEntry> {
  readonly #options: ScheduleEntriesOptions<G, E>;

  constructor(options: ScheduleEntriesOptions<G, E>) {
    this.#options = options;
  }

  get #store(): Store {
    return this.#options.store();
  }

  readonly list = async (): Promise<E[]> => {
    const { kind, read } = this.#options;
    return (await this.#store.schedules.list(kind)).map(read);
  };

  /** Lists the entries whose last run failed. */
  readonly failing = async (): Promise<E[]> => {
    const { kind, read } = this.#options;
    return (await this.#store.schedules.failing(kind)).map(read);
  };

  /** Finds an entry by its id, or by a name that no other entry has. Throws 404, or 409 where several have the name. */
  readonly find = async (idOrName: string): Promise<E> => {
    const { kind, noun, listedBy, read } = this.#options;
    const row = await this.#store.schedules.get(kind, idOrName);
    if (row) return read(row);
    const named = (await this.list()).filter((entry) => entry.row.name === idOrName);
    if (named.length === 1) return named[0]!;
    const name = JSON.stringify(idOrName);
    if (named.length === 0) throw errors.unknownEntry({ noun, name, command: listedBy });
    const ids = named.map((entry) => entry.row.id).join(", ");
    throw errors.ambiguousName({ noun, name, ids });
  };

  /** Throws 409 for an entry of the configuration. */
  readonly refuseConfigured = ({ row, body }: E): void => {
    const { noun, section, isConfigured } = this.#options;
    if (!isConfigured(body)) return;
    const name = JSON.stringify(row.name);
    throw errors.configured({ noun, name, key: `${section}.${row.name}` });
  };

  /** Puts a new entry under a new id, `<prefix>_…`, which is also its name where it has none. */
  readonly add = async (
    prefix: string,
    name: string | undefined,
    make: (
      id: string,
      now: number,
    ) => Pick<NewSchedule, "enabled" | "nextAt"> & Pick<E, "body" | "state">,
  ): Promise<E> => {
    const { kind, read, changed } = this.#options;
    const id = newEntryId(prefix);
    const fields = make(id, this.#store.now());
    const row = await this.#store.schedules.put({ kind, id, name: name ?? id, ...fields });
    changed();
    return read(row!);
  };

  /**
   * Changes an entry, by id or name, to what `next` makes of it. `next` is asked again where the entry changed meanwhile,
   * for example because a slot of it was taken.
   */
  readonly change = async (
    idOrName: string,
    next: (entry: E, now: number) => Omit<NewSchedule, "kind" | "id">,
  ): Promise<E> => {
    const { kind, read, changed } = this.#options;
    for (;;) {
      const entry = await this.find(idOrName);
      const { id, rev, name } = entry.row;
      const { name: newName = name, ...fields } = next(entry, this.#store.now());
      const row = await this.#store.schedules.put({ kind, id, name: newName, ...fields }, rev);
      if (!row) continue;
      changed();
      return read(row);
    }
  };

  /** Removes an entry and its history, regardless of its creator. */
  readonly drop = async (id: string): Promise<void> => {
    const { kind, changed } = this.#options;
    await this.#store.schedules.delete(kind, id);
    await this.#store.runs.prune(`${kind}:${id}`, 0);
    changed();
  };

  /** As `drop`, by id or name. Refuses an entry of the configuration (409). */
  readonly remove = async (idOrName: string): Promise<E> => {
    const entry = await this.find(idOrName);
    this.refuseConfigured(entry);
    await this.drop(entry.row.id);
    return entry;
  };

  /** What is wrong with definitions of the configuration, by name. */
  readonly problems = (configured: Readonly<Record<string, G>>): Map<string, PorticoError> => {
    const { section, bodyOf } = this.#options;
    const problems = new Map<string, PorticoError>();
    const now = this.#store.now(); // one for all, so that equal expressions are calculated once
    for (const [name, definition] of Object.entries(configured)) {
      try {
        bodyOf(definition, now);
      } catch (cause) {
        const param = `${section}.${name}`;
        const values = { key: param, problem: (cause as Error).message };
        problems.set(name, errors.badDefinition(values, { param, cause }));
      }
    }
    return problems;
  };

  /**
   * Brings the store in line with the configuration. An entry whose definition is the same keeps its due time, state and
   * history; one whose definition is wrong stays as it was. Answers all entries as they are then, because reading ten
   * thousand takes a while.
   */
  readonly sync = async (configured: Readonly<Record<string, G>>): Promise<E[]> => {
    const { isConfigured, changed } = this.#options;
    const now = this.#store.now();
    const all = await this.list();
    const unclaimed = new Map(
      all.filter(({ body }) => isConfigured(body)).map((entry) => [entry.row.name, entry]),
    );
    let isChanged = false;
    for (const [name, definition] of Object.entries(configured)) {
      const entry = unclaimed.get(name);
      unclaimed.delete(name);
      if (await this.#syncEntry(name, definition, entry, now)) isChanged = true;
    }
    for (const { row } of unclaimed.values()) await this.drop(row.id);
    changed();
    return isChanged || unclaimed.size > 0 ? this.list() : all;
  };

  /** Answers whether the store has changed. */
  async #syncEntry(
    name: string,
    definition: G,
    entry: E | undefined,
    now: number,
  ): Promise<boolean> {
    const { kind, place } = this.#options;
    const id = entry?.row.id ?? `config:${name}`;
    const body = this.#bodyIfRight(definition, entry?.body.anchorMs ?? now);
    if (body === undefined) return false;
    const enabled = wantsEnabled(definition, true);
    const configured = JSON.stringify([body, enabled]);
    if (entry?.state.configured === configured) return false;
    const { state, ...placed } = place({ id, body, enabled, entry, now });
    await this.#store.schedules.put({
      kind,
      id,
      name,
      body,
      ...placed,
      state: { ...state, configured },
    });
    return true;
  }

  /** Undefined for a wrong definition: `problems` says what is wrong with it. */
  #bodyIfRight(definition: G, anchorMs: number): E["body"] | undefined {
    try {
      return this.#options.bodyOf(definition, anchorMs);
    } catch {
      return undefined;
    }
  }

  /** The newest runs of an entry, by id or name, each as `view` shows it. */
  readonly history = async <V>(
    idOrName: string,
    limit: number,
    view: (run: Run, entry: E) => V,
  ): Promise<V[]> => {
    const entry = await this.find(idOrName);
    const owner = `${this.#options.kind}:${entry.row.id}`;
    const runs = await this.#store.runs.list({ owner, limit });
    return runs.map((run) => view(run, entry));
  };
}
