/** The store's face, made of the operations and whichever engine runs them. */
import { addBatch, againOf, enqueue } from "./operations/enqueue.ts";
import {
  addValue,
  deleteValue,
  getValue,
  listKeys,
  setValue,
  sweep,
} from "./operations/key-value.ts";
import { drain, pending } from "./operations/drain.ts";
import { knownKey } from "./operations/known.ts";
import { take } from "./operations/limits.ts";
import { getDelivery, listDeliveries, pruneDeliveries } from "./operations/deliveries/log.ts";
import { extendReservations, reserve, settle } from "./operations/reservations.ts";
import { getRun, listRuns, pruneRuns, putRun } from "./operations/runs.ts";
import type { Engine } from "./sql/engine.ts";
import type { Operation, Transaction } from "./sql/operation.ts";
import {
  countItems,
  getItem,
  laneStatus,
  listItems,
  pruneItems,
  queueProblems,
  queueStats,
} from "./operations/queue-views.ts";
import {
  commitSchedule,
  deleteSchedule,
  dueSchedules,
  failingSchedules,
  getSchedule,
  listSchedules,
  nextDueAt,
  putSchedule,
  scheduleCursor,
  tick,
} from "./operations/schedules.ts";
import {
  appendMessages,
  bytesOfSessions,
  clearSession,
  deleteSession,
  getSession,
  listSessions,
  putSession,
  transcript,
} from "./operations/sessions.ts";
import type { Batch, Store } from "./types.ts";
import { appendUsage, listRequests, pruneUsage, sumUsage } from "./operations/usage.ts";
import {
  abandon,
  anythingReady,
  cancel,
  claim,
  extend,
  finish,
  nextWorkAt,
  replay,
  workers,
} from "./operations/work.ts";

/** `write` for an operation whose `undefined` or `false` means that nothing was written, then the batch. */
function* withBatch<T>(
  tx: Transaction,
  operation: Operation<T>,
  batch: Batch | undefined,
): Operation<T> {
  const result = yield* operation;
  if (result !== undefined && result !== false) yield* addBatch(tx, batch);
  return result;
}

/** A store over an engine. */
export function createStore(engine: Engine, sharedBy: Store["sharedBy"] = "nobody"): Store {
  const { read, write } = engine;
  return {
    sharedBy,
    now: () => engine.now(),

    enqueue: (batch) => write((tx) => enqueue(tx, batch), { again: () => againOf(batch) }),
    known: (key) => read((tx) => knownKey(tx, key)),
    claim: async (worker, max, leaseMs, kinds, shares) => {
      if (max < 1 || !(await read((tx) => anythingReady(tx, kinds)))) return [];
      return write((tx) => claim(tx, { worker, max, leaseMs, kinds, shares }), { soft: true });
    },
    extend: (held, leaseMs) => write((tx) => extend(tx, held, leaseMs), { soft: true }),
    finish: (held, outcome, emits) =>
      write((tx) => withBatch(tx, finish(tx, held, outcome), emits)),
    drain: (lane, kind, max, by, maxChars) =>
      write((tx) => drain(tx, lane, kind, max, by, maxChars)),
    abandon: (worker) => write((tx) => abandon(tx, worker)),
    workers: () => read(workers),
    pending: (lane, kind) => read((tx) => pending(tx, lane, kind)),
    nextWorkAt: (kinds) => read(() => nextWorkAt(kinds)),
    onWork: engine.onWork,
    inSoleUse: engine.inSoleUse,
    items: {
      get: (id) => read(() => getItem(id)),
      list: (filter = {}) => read(() => listItems(filter)),
      cancel: (id) => write((tx) => cancel(tx, id)),
      replay: (id) => write((tx) => replay(tx, id)),
      prune: (before, states) => write(() => pruneItems(before, states)),
      count: (kind, state) => read(() => countItems(kind, state), `${state} ${kind}`),
      stats: () => read(queueStats),
      lanes: (limit) => read(() => laneStatus(limit)),
    },

    schedules: {
      put: (schedule, expectedRev) => write((tx) => putSchedule(tx, schedule, expectedRev)),
      get: (kind, id) => read(() => getSchedule(kind, id)),
      list: (kind) => read(() => listSchedules(kind)),
      failing: (kind) => read(() => failingSchedules(kind), `failing ${kind}`),
      delete: (kind, id) => write((tx) => deleteSchedule(tx, kind, id)),
      due: (kind, now, limit) => read(() => dueSchedules(kind, now, limit)),
      nextDueAt: (kind) => read(() => nextDueAt(kind)),
      cursor: (kind, id) => read(() => scheduleCursor(kind, id)),
    },
    tick: (slot, batch) => write((tx) => withBatch(tx, tick(tx, slot), batch)),
    commitSchedule: (commit, batch) =>
      write((tx) => withBatch(tx, commitSchedule(tx, commit), batch)),

    take: (key, cost, max, windowMs) =>
      write((tx) => take(tx, key, cost, max, windowMs), { soft: true }),

    reservations: {
      reserve: (reservation, requests) =>
        write((tx) => reserve(tx, reservation, requests), { soft: true }),
      settle: (id, charges) => write((tx) => settle(tx, id, charges), { soft: true }),
      extend: (holder, ttlMs) =>
        write((tx) => extendReservations(tx, holder, ttlMs), { soft: true }),
    },

    kv: {
      get: <T>(namespace: string, key: string) =>
        read((tx) => getValue(tx, namespace, key)) as Promise<T | undefined>,
      set: (namespace, key, value, options) =>
        write((tx) => setValue(tx, { namespace, key, value, ...options })),
      add: (namespace, key, value, options) =>
        write((tx) => addValue(tx, { namespace, key, value, ...options })),
      delete: (namespace, key) => write((tx) => deleteValue(tx, namespace, key)),
      list: (namespace, prefix = "") => read((tx) => listKeys(tx, namespace, prefix)),
    },

    sessions: {
      get: (id) => read(() => getSession(id)),
      put: (id, meta) => write((tx) => putSession(tx, id, meta)),
      list: (filter = {}) => read(() => listSessions(filter)),
      append: (id, messages) => write((tx) => appendMessages(tx, id, messages)),
      transcript: (id, range = {}) => read(() => transcript(id, range)),
      clear: (id) => write((tx) => clearSession(tx, id)),
      delete: (id) => write(() => deleteSession(id)),
      bytes: (prefix) => read(() => bytesOfSessions(prefix)),
    },
    deliveries: {
      append: (delivery) => write((tx) => addBatch(tx, { deliveries: [delivery] })),
      get: (id) => read(() => getDelivery(id)),
      list: (filter = {}) => read(() => listDeliveries(filter)),
      prune: (options) => write(() => pruneDeliveries(options)),
    },
    runs: {
      put: (entry) => write(() => putRun(entry)),
      get: (id) => read(() => getRun(id)),
      list: (filter) => read(() => listRuns(filter)),
      prune: (owner, keep) => write(() => pruneRuns(owner, keep)),
    },
    usage: {
      append: (records, requests) =>
        write((tx) => appendUsage(tx, records, requests), { soft: true }),
      sum: (filter = {}) => read(() => sumUsage(filter)),
      requests: (range) => read(() => listRequests(range)),
      prune: (before) => write(() => pruneUsage(before)),
    },

    open: () => engine.open(),
    health: (isQuick) => engine.health(isQuick),
    check: async () => [...(await engine.check()), ...(await read(queueProblems))],
    sweep: () => write(sweep),
    backup: (file) => engine.backup(file),
    compact: () => engine.compact(),
    close: () => engine.close(),
  };
}
