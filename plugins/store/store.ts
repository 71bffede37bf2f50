/** The interface of the store: each call is an operation that the engine executes. */
import { getDelivery, listDeliveries, pruneDeliveries } from "./operations/deliveries.ts";
import { drain, countPending } from "./operations/drain.ts";
import { enqueue } from "./operations/enqueue.ts";
import {
  addValue,
  deleteValue,
  getValue,
  listKeys,
  sweep,
  writeValue,
} from "./operations/key-value.ts";
import { findKey } from "./operations/dedup-keys.ts";
import { take } from "./operations/limits.ts";
import { extendReservations, reserve, settle } from "./operations/reservations.ts";
import { getRun, listRuns, pruneRuns, writeRun } from "./operations/runs.ts";
import type { Engine } from "./sql/engine.ts";
import {
  countItems,
  getItem,
  listLanes,
  listItems,
  pruneItems,
  findQueueProblems,
  readQueueStats,
} from "./operations/queue-views.ts";
import {
  commitSchedule,
  deleteSchedule,
  listDueSchedules,
  listFailingSchedules,
  getSchedule,
  listSchedules,
  findNextDueTime,
  getCursor,
  tick,
  writeSchedule,
} from "./operations/schedules.ts";
import {
  sumBytes,
  clearSession,
  deleteSession,
  getSession,
  listSessions,
  listMessages,
  writeMessages,
  writeSession,
} from "./operations/sessions.ts";
import type { Store } from "./types.ts";
import { appendUsage, listRequests, pruneUsage, sumUsage } from "./operations/usage.ts";
import {
  abandon,
  hasReadyLane,
  cancel,
  claim,
  extend,
  finish,
  findNextWorkTime,
  replay,
  wake,
  listWorkers,
} from "./operations/work.ts";

/** Creates a store over an engine. */
export function createStore(engine: Engine, sharedBy: Store["sharedBy"] = "nobody"): Store {
  const { read, write } = engine;
  return {
    sharedBy,
    now: () => engine.now(),

    enqueue: (batch) => write(enqueue(batch)),
    known: (key) => read((tx) => findKey(tx, key)),
    claim: async (worker, max, leaseMs, kinds, shares) => {
      if (max < 1 || !(await read((tx) => hasReadyLane(tx, kinds)))) return [];
      return write(claim({ worker, max, leaseMs, kinds, shares }));
    },
    extend: (ownClaim, leaseMs) => write(extend(ownClaim, leaseMs)),
    finish: (ownClaim, outcome, emits) => write(finish(ownClaim, outcome, emits)),
    drain: (lane, kind, max, by, maxChars) => write(drain({ lane, kind, max, by, maxChars })),
    abandon: (worker) => write(abandon(worker)),
    workers: () => read(listWorkers),
    pending: (lane, kind) => read((tx) => countPending(tx, lane, kind)),
    nextWorkAt: (kinds) => read(() => findNextWorkTime(kinds)),
    onWork: engine.onWork,
    inSoleUse: engine.inSoleUse,
    items: createItems(engine),

    schedules: createSchedules(engine),
    tick: (slot, batch) => write(tick(slot, batch)),
    commitSchedule: (commit, batch) => write(commitSchedule(commit, batch)),

    take: (key, cost, max, windowMs) => write(take({ key, max, windowMs }, cost)),

    reservations: createReservations(engine),

    kv: createKv(engine),

    sessions: createSessions(engine),
    deliveries: createDeliveries(engine),
    runs: createRuns(engine),
    usage: createUsage(engine),

    open: () => engine.open(),
    health: (isQuick) => engine.health(isQuick),
    check: async () => [...(await engine.check()), ...(await read(findQueueProblems))],
    sweep: () => write(sweep()),
    backup: (file) => engine.backup(file),
    compact: () => engine.compact(),
    close: () => engine.close(),
  };
}

function createItems({ read, write }: Engine): Store["items"] {
  return {
    get: (id) => read(() => getItem(id)),
    list: (filter = {}) => read(() => listItems(filter)),
    cancel: (id) => write(cancel(id)),
    wake: (id) => write(wake(id)),
    replay: (id) => write(replay(id)),
    prune: (before, states) => write(pruneItems(before, states)),
    count: (kind, state) => read(() => countItems(kind, state), `${state} ${kind}`),
    stats: () => read(readQueueStats),
    lanes: (limit) => read(() => listLanes(limit)),
  };
}

function createSchedules({ read, write }: Engine): Store["schedules"] {
  return {
    put: (schedule, expectedRev) => write(writeSchedule(schedule, expectedRev)),
    get: (kind, id) => read(() => getSchedule(kind, id)),
    list: (kind) => read(() => listSchedules(kind)),
    failing: (kind) => read(() => listFailingSchedules(kind), `failing ${kind}`),
    delete: (kind, id) => write(deleteSchedule(kind, id)),
    due: (kind, now, limit) => read(() => listDueSchedules(kind, now, limit)),
    nextDueAt: (kind) => read(() => findNextDueTime(kind)),
    cursor: (kind, id) => read(() => getCursor(kind, id)),
  };
}

function createReservations({ write }: Engine): Store["reservations"] {
  return {
    reserve: (reservation, requests) => write(reserve(reservation, requests)),
    settle: (id, charges) => write(settle(id, charges)),
    extend: (holder, ttlMs) => write(extendReservations(holder, ttlMs)),
  };
}

function createKv({ read, write }: Engine): Store["kv"] {
  return {
    get: <T>(namespace: string, key: string) =>
      read((tx) => getValue(tx, namespace, key)) as Promise<T | undefined>,
    set: (namespace, key, value, options) =>
      write(writeValue({ namespace, key, value, ...options })),
    add: (namespace, key, value, options) => write(addValue({ namespace, key, value, ...options })),
    delete: (namespace, key) => write(deleteValue(namespace, key)),
    list: (namespace, prefix = "") => read((tx) => listKeys(tx, namespace, prefix)),
  };
}

function createSessions({ read, write }: Engine): Store["sessions"] {
  return {
    get: (id) => read(() => getSession(id)),
    put: (id, meta) => write(writeSession(id, meta)),
    list: (filter = {}) => read(() => listSessions(filter)),
    append: (id, messages) => write(writeMessages(id, messages)),
    transcript: (id, range = {}) => read(() => listMessages(id, range)),
    clear: (id) => write(clearSession(id)),
    delete: (id) => write(deleteSession(id)),
    bytes: (principal) => read(() => sumBytes(principal)),
  };
}

function createDeliveries({ read, write }: Engine): Store["deliveries"] {
  return {
    append: (delivery) => write(enqueue({ deliveries: [delivery] })).then(() => {}),
    get: (id) => read(() => getDelivery(id)),
    list: (filter = {}) => read(() => listDeliveries(filter)),
    prune: (options) => write(pruneDeliveries(options)),
  };
}

function createRuns({ read, write }: Engine): Store["runs"] {
  return {
    put: (entry) => write(writeRun(entry)),
    get: (id) => read(() => getRun(id)),
    list: (filter) => read(() => listRuns(filter)),
    prune: (owner, keep) => write(pruneRuns(owner, keep)),
  };
}

function createUsage({ read, write }: Engine): Store["usage"] {
  return {
    append: (records, requests) => write(appendUsage(records, requests)),
    sum: (filter = {}) => read(() => sumUsage(filter)),
    requests: (range) => read(() => listRequests(range)),
    prune: (before) => write(pruneUsage(before)),
  };
}
