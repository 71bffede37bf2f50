/**
 * The schedules of one kind in the store: those that the configuration defines, and those that users and the agent add.
 */
import { randomBytes } from "node:crypto";
import type { PorticoError } from "portico";
import type { NewSchedule, Run, Schedule, Store } from "portico/store";
import { errors } from "./errors.ts";

/** A schedule whose parts have the types of the plugin that owns the kind. */
export interface ScheduleEntry {
  row: Schedule;
  /** `anchorMs`: the time from which an interval counts; epoch ms. */
  body: { anchorMs: number };
  /** `configured`: for an entry of the configuration, its definition as JSON, which reveals changes. */
  state: { configured?: string };
}

/** A definition may enable or disable an entry with either member. `status` takes precedence. */
export interface EnabledOrNot {
  status?: "enabled" | "disabled";
  enabled?: boolean;
}

export interface Definition<E extends ScheduleEntry> {
  id: string;
  body: E["body"];
  enabled: boolean;
  /** The stored entry of this name, with its previous definition. */
  entry: E | undefined;
  now: number;
}

export interface ScheduleEntriesOptions<G extends EnabledOrNot, E extends ScheduleEntry> {
  store(): Store;
  /** The kind of the entries in the store. */
  kind: string;
  /** The noun for an entry in messages, such as `cron job`. */
  noun: string;
  /** The command that lists the entries. */
  listedBy: string;
  /** The configuration key with the definitions by name, such as `cron.jobs`. */
  section: string;
  read(row: Schedule): E;
  isConfigured(body: E["body"]): boolean;
  /** Converts a definition of the configuration to its stored form. Throws for an invalid definition. */
  bodyOf(definition: G, anchorMs: number): E["body"];
  /** Returns the due time and the state for a new or changed definition of the configuration. */
  place(
    definition: Definition<E>,
  ): Pick<NewSchedule, "enabled" | "nextAt" | "cursor"> & { state: E["state"] };
  /** Called after each change, because due times may have moved. */
  changed(): void;
}

/** Returns whether a definition enables its entry, by `status` or `enabled`. `fallback` applies if it has neither. */
export const wantsEnabled = (definition: EnabledOrNot, fallback: boolean): boolean =>
  definition.status !== undefined
    ? definition.status === "enabled"
    : (definition.enabled ?? fallback);

/** Creates a short id that a person can type, such as `job_Ab3dEf6hIj9k`. */
const newEntryId = (prefix: string): string =>
  `${prefix}_${randomBytes(9).toString("base64url").replace(/[-_]/g, "0")}`;

/** Converts epoch ms to ISO 8601. Returns null for a missing value or an invalid date. */
export const isoDate = (ms: number | null | undefined): string | null =>
  typeof ms === "number" && Number.isFinite(new Date(ms).getTime())
    ? new Date(ms).toISOString()
    : null;

/**
 * Parses a change in the form of a JSON merge patch: `null` removes a `removable` member (which is `undefined` in the
 * result), and throws 400 for any other. `parse` validates the rest.
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
  const refusedField = members.find((member) => member[1] === null && !isRemoved(member))?.[0];
  if (refusedField !== undefined)
    throw errors.notRemovable({ field: refusedField }, { param: refusedField });
  return {
    ...rest,
    ...Object.fromEntries(members.filter(isRemoved).map(([key]) => [key, undefined])),
  };
}

/** Converts a value to what a JSON body would contain: removes `undefined` members at any depth. */
export const asBody = (value: Record<string, unknown>): Record<string, unknown> =>
  JSON.parse(JSON.stringify(value));

/** Creates the access to the schedules of one kind. */
export function createScheduleEntries<G extends EnabledOrNot, E extends ScheduleEntry>(
  options: ScheduleEntriesOptions<G, E>,
): ScheduleEntries<G, E> {
  return new ScheduleEntries(options);
}

/**
 * The operations are properties, so that a plugin can spread them beside its own and pass them on without their object.
 */
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

  /** Finds an entry by its id, or by a name that no other entry has. Throws 404, or 409 if several have the name. */
  readonly find = async (idOrName: string): Promise<E> => {
    const { kind, noun, listedBy, read } = this.#options;
    const row = await this.#store.schedules.get(kind, idOrName);
    if (row) return read(row);
    const namesakes = (await this.list()).filter((entry) => entry.row.name === idOrName);
    if (namesakes.length === 1) return namesakes[0]!;
    const name = JSON.stringify(idOrName);
    if (namesakes.length === 0) throw errors.unknownEntry({ noun, name, command: listedBy });
    const ids = namesakes.map((entry) => entry.row.id).join(", ");
    throw errors.ambiguousName({ noun, name, ids });
  };

  /** Throws 409 for an entry of the configuration. */
  readonly refuseConfigured = ({ row, body }: E): void => {
    const { noun, section, isConfigured } = this.#options;
    if (!isConfigured(body)) return;
    const name = JSON.stringify(row.name);
    throw errors.configured({ noun, name, key: `${section}.${row.name}` });
  };

  /** Stores a new entry under a new id, `<prefix>_…`, which is also its name if it has none. */
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
   * Changes an entry, by id or name, to the result of `next`. `next` is called again if the entry changed in the meantime,
   * for example because one of its slots was taken.
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

  /** Removes an entry by id or name, like `drop`. Throws 409 for an entry of the configuration. */
  readonly remove = async (idOrName: string): Promise<E> => {
    const entry = await this.find(idOrName);
    this.refuseConfigured(entry);
    await this.drop(entry.row.id);
    return entry;
  };

  /** Returns the errors of invalid definitions of the configuration, by name. */
  readonly problems = (configured: Readonly<Record<string, G>>): Map<string, PorticoError> => {
    const { section, bodyOf } = this.#options;
    const problems = new Map<string, PorticoError>();
    const now = this.#store.now(); // One value for all, so that the dates of equal expressions are computed once.
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
   * history; one whose definition is invalid stays as it was. Returns all entries afterwards, because reading ten thousand
   * entries again takes a while.
   */
  readonly sync = async (configured: Readonly<Record<string, G>>): Promise<E[]> => {
    const { isConfigured, changed } = this.#options;
    const now = this.#store.now();
    const all = await this.list();
    const obsoleteEntries = new Map(
      all.filter(({ body }) => isConfigured(body)).map((entry) => [entry.row.name, entry]),
    );
    let isChanged = false;
    for (const [name, definition] of Object.entries(configured)) {
      const entry = obsoleteEntries.get(name);
      obsoleteEntries.delete(name);
      if (await this.#syncEntry(name, definition, entry, now)) isChanged = true;
    }
    for (const { row } of obsoleteEntries.values()) await this.drop(row.id);
    changed();
    return isChanged || obsoleteEntries.size > 0 ? this.list() : all;
  };

  /** Returns whether the store has changed. */
  async #syncEntry(
    name: string,
    definition: G,
    entry: E | undefined,
    now: number,
  ): Promise<boolean> {
    const { kind, place } = this.#options;
    const id = entry?.row.id ?? `config:${name}`;
    const body = this.#bodyIfValid(definition, entry?.body.anchorMs ?? now);
    if (body === undefined) return false;
    const enabled = wantsEnabled(definition, true);
    const configured = JSON.stringify([body, enabled]);
    if (entry?.state.configured === configured) return false;
    for (let current = entry; ; current = await this.#read(id)) {
      const { state, ...placement } = place({ id, body, enabled, entry: current, now });
      const row = await this.#store.schedules.put(
        { kind, id, name, body, ...placement, state: { ...state, configured } },
        current?.row.rev,
      );
      // Otherwise a slot was taken or a run ended in the meantime, which this state would undo.
      if (row !== undefined) return true;
    }
  }

  async #read(id: string): Promise<E | undefined> {
    const { kind, read } = this.#options;
    const row = await this.#store.schedules.get(kind, id);
    return row && read(row);
  }

  /** Returns undefined for an invalid definition. `problems` says what is wrong with it. */
  #bodyIfValid(definition: G, anchorMs: number): E["body"] | undefined {
    try {
      return this.#options.bodyOf(definition, anchorMs);
    } catch {
      return undefined;
    }
  }

  /** Returns the newest runs of an entry, by id or name, each converted by `view`. */
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
