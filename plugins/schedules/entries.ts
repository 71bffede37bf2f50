/** The schedules of one kind, as the plugin that owns the kind keeps them: its own in the configuration, others beside. */
import { randomBytes } from "node:crypto";
import { PorticoError } from "portico";
import type { NewSchedule, Run, Schedule, Store } from "portico/store";

/** A schedule with its parts typed by its owner. */
export interface ScheduleEntry {
  row: Schedule;
  /** `anchorMs`: what an interval counts from; epoch ms. */
  body: { anchorMs: number };
  /** `configured`: for one of the configuration, its definition as it was read, to see a change. */
  state: { configured?: string };
}

/** Whether something is to be enabled may be said by either of these; `status` wins. */
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
  bodyOf(given: G, anchorMs: number): E["body"];
  /** When a definition of the configuration that is new or has changed comes due, and with which state. */
  place(
    definition: Definition<E>,
  ): Pick<NewSchedule, "enabled" | "nextAt" | "cursor"> & { state: E["state"] };
  /** Called after each change: due times may have moved. */
  changed(): void;
}

/** True where enabled is asked for, by either of its two spellings. */
export const wantsEnabled = (given: EnabledOrNot, otherwise: boolean): boolean =>
  given.status !== undefined ? given.status === "enabled" : (given.enabled ?? otherwise);

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
  parse: (given: unknown) => C,
  given: unknown,
  removable: readonly (keyof C & string)[],
): C {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return parse(given);
  const members = Object.entries(given);
  const isRemoved = ([key, value]: [string, unknown]) =>
    value === null && removable.some((one) => one === key);
  const rest = parse(Object.fromEntries(members.filter((one) => !isRemoved(one))));
  const kept = members.find((one) => one[1] === null && !isRemoved(one))?.[0];
  if (kept !== undefined)
    throw new PorticoError(
      "invalid_request_error",
      `${kept} cannot be taken away: give it a value.`,
      { param: kept },
    );
  return {
    ...rest,
    ...Object.fromEntries(members.filter(isRemoved).map(([key]) => [key, undefined])),
  };
}

/** As a JSON body would bring it: without `undefined` members, at any depth. */
export const asBody = (value: Record<string, unknown>): Record<string, unknown> =>
  JSON.parse(JSON.stringify(value));

export function createScheduleEntries<G extends EnabledOrNot, E extends ScheduleEntry>(
  options: ScheduleEntriesOptions<G, E>,
) {
  const { store, kind, noun, section, changed } = options;

  async function list(): Promise<E[]> {
    return (await store().schedules.list(kind)).map(options.read);
  }

  /** Those whose last run failed. */
  async function failing(): Promise<E[]> {
    return (await store().schedules.failing(kind)).map(options.read);
  }

  /** By id, or by a name that only one has. Throws 404, or 409 where several have it. */
  async function find(idOrName: string): Promise<E> {
    const row = await store().schedules.get(kind, idOrName);
    if (row) return options.read(row);
    const named = (await list()).filter((entry) => entry.row.name === idOrName);
    if (named.length === 1) return named[0]!;
    const shown = JSON.stringify(idOrName);
    if (named.length > 1) {
      const ids = named.map((entry) => entry.row.id).join(", ");
      throw new PorticoError(
        "conflict",
        `Several ${noun}s are named ${shown}: use an id (${ids}).`,
      );
    }
    throw new PorticoError(
      "not_found",
      `There is no ${noun} ${shown}. List them with: ${options.listedBy}`,
    );
  }

  function refuseConfigured({ row, body }: E): void {
    if (!options.isConfigured(body)) return;
    throw new PorticoError(
      "conflict",
      `The ${noun} ${JSON.stringify(row.name)} stands in the configuration (${section}.${row.name}): change it there.`,
    );
  }

  /** Puts a new one under an id of its own, `<prefix>_…`, which is also its name where it has none. */
  async function add(
    prefix: string,
    name: string | undefined,
    make: (
      id: string,
      now: number,
    ) => Pick<NewSchedule, "enabled" | "nextAt"> & Pick<E, "body" | "state">,
  ): Promise<E> {
    const id = newEntryId(prefix);
    const row = await store().schedules.put({
      kind,
      id,
      name: name ?? id,
      ...make(id, store().now()),
    });
    changed();
    return options.read(row!);
  }

  /**
   * Changes one, by id or name, to what `next` makes of it; `next` is asked again where somebody else (a slot that is
   * taken) changed it meanwhile.
   */
  async function change(
    idOrName: string,
    next: (entry: E, now: number) => Omit<NewSchedule, "kind" | "id">,
  ): Promise<E> {
    for (;;) {
      const entry = await find(idOrName);
      const { id, rev, name } = entry.row;
      const { name: given = name, ...fields } = next(entry, store().now());
      const row = await store().schedules.put({ kind, id, name: given, ...fields }, rev);
      if (!row) continue;
      changed();
      return options.read(row);
    }
  }

  /** Removes one and its history, whoever made it. */
  async function drop(id: string): Promise<void> {
    await store().schedules.delete(kind, id);
    await store().runs.prune(`${kind}:${id}`, 0);
    changed();
  }

  /** As `drop`, by id or name; refuses what stands in the configuration (409). */
  async function remove(idOrName: string): Promise<E> {
    const entry = await find(idOrName);
    refuseConfigured(entry);
    await drop(entry.row.id);
    return entry;
  }

  /** What is wrong with definitions of the configuration, by name. */
  function problems(configured: Readonly<Record<string, G>>): Map<string, PorticoError> {
    const found = new Map<string, PorticoError>();
    const now = store().now(); // one for all: equal expressions are reckoned once
    for (const [name, given] of Object.entries(configured)) {
      try {
        options.bodyOf(given, now);
      } catch (cause) {
        const param = `${section}.${name}`;
        const message = `${param}: ${(cause as Error).message}`;
        found.set(name, new PorticoError("invalid_request_error", message, { param, cause }));
      }
    }
    return found;
  }

  /** Undefined for a wrong definition: `problems` says what is wrong with it. */
  function bodyIfRight(given: G, anchorMs: number): E["body"] | undefined {
    try {
      return options.bodyOf(given, anchorMs);
    } catch {
      return undefined;
    }
  }

  /**
   * Brings the store in line with the configuration. What kept its definition keeps its due time, state and history; what
   * has a wrong one stays as it was. Answers all that there are then: to read ten thousand takes a while.
   */
  async function sync(configured: Readonly<Record<string, G>>): Promise<E[]> {
    const now = store().now();
    const all = await list();
    const known = new Map(
      all.filter(({ body }) => options.isConfigured(body)).map((entry) => [entry.row.name, entry]),
    );
    let isChanged = false;
    for (const [name, given] of Object.entries(configured)) {
      const entry = known.get(name);
      known.delete(name);
      const id = entry?.row.id ?? `config:${name}`;
      const body = bodyIfRight(given, entry?.body.anchorMs ?? now);
      if (body === undefined) continue;
      const enabled = wantsEnabled(given, true);
      const definition = JSON.stringify([body, enabled]);
      if (entry?.state.configured === definition) continue;
      const { state, ...placed } = options.place({ id, body, enabled, entry, now });
      await store().schedules.put({
        kind,
        id,
        name,
        body,
        ...placed,
        state: { ...state, configured: definition },
      });
      isChanged = true;
    }
    for (const gone of known.values()) await drop(gone.row.id);
    changed();
    return isChanged || known.size > 0 ? list() : all;
  }

  /** The newest runs of one, by id or name, each as `view` shows it. */
  async function history<V>(
    idOrName: string,
    limit: number,
    view: (run: Run, entry: E) => V,
  ): Promise<V[]> {
    const entry = await find(idOrName);
    const runs = await store().runs.list({ owner: `${kind}:${entry.row.id}`, limit });
    return runs.map((run) => view(run, entry));
  }

  return {
    list,
    failing,
    find,
    refuseConfigured,
    add,
    change,
    drop,
    remove,
    problems,
    sync,
    history,
  };
}
