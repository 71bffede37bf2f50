/** Limits on the amounts that requests use: an estimate is reserved before a request, and the real amount is added after it. */
import type {
  CalendarPeriod,
  Charge,
  Count,
  Reserved,
  ReservationRequest,
  ReservationState,
} from "../records/reservations.ts";
import { limitLock, type Lock, rowLock } from "../sql/locks.ts";
import type { Operation, Transaction, Write } from "../sql/operation.ts";
import { whereClause } from "../sql/query.ts";
import {
  addAmount,
  type HitLog,
  getNewestTime,
  readHitLogs,
  usedWithin,
  computeWait,
} from "./limits.ts";

/** Sums of money are sums of fractions, with an error below this. */
const TOLERANCE = 1e-9;
/** The delay of a retry if other requests hold reservations, which they may settle at any moment. */
const SOON_MS = 1000;

interface Reservation {
  id: string;
  holder: string;
  ttlMs: number;
}

/** Reserves all amounts under the reservation's id, or none, and replaces an earlier reservation. */
export function reserve(
  reservation: Reservation,
  requests: readonly ReservationRequest[],
): Write<Reserved> {
  return {
    locks: [rowLock("reservations", reservation.id), ...collectCountLocks(requests)],
    isSoft: true,
    run: (tx) => reserveAmounts(tx, reservation, requests),
  };
}

/** Returns two locks for each count: its key, under which reservations are summed, and the name of its log. */
function collectCountLocks(counts: readonly Count[]): Lock[] {
  return counts.flatMap((count) => [limitLock(count.key), limitLock(nameLog(count))]);
}

function* reserveAmounts(
  tx: Transaction,
  { id, holder, ttlMs }: Reservation,
  requests: readonly ReservationRequest[],
): Operation<Reserved> {
  const counts = yield* readCounts(tx, requests);
  yield* release(id);
  const states: ReservationState[] = [];
  const amounts: number[] = [];
  for (const request of requests) {
    const log = counts.get(request.key)!;
    const reserved = yield* sumReserved(tx, request.key);
    const state = { key: request.key, max: request.max, ...measureUse(tx, request, log), reserved };
    states.push(state);
    const amount = fitAmount(request, state);
    if (amount === undefined)
      return { allowed: false, states, refused: createRefusal(tx, request, state, log) };
    amounts.push(amount);
  }
  for (const [i, { key }] of requests.entries()) {
    const amount = amounts[i]!;
    states[i]!.reserved += amount;
    if (amount > 0) yield* insertReservation(tx, { id, key, amount, holder, ttlMs });
  }
  return { allowed: true, states };
}

/** Releases the reservation `id`, and adds what was used. */
export function settle(id: string, charges: readonly Charge[]): Write<void> {
  return {
    locks: [rowLock("reservations", id), ...collectCountLocks(charges)],
    isSoft: true,
    *run(tx) {
      const counts = yield* readCounts(tx, charges);
      for (const { key, window, amount } of charges) {
        const log = counts.get(key)!;
        if ("ms" in window) addAmount(log, tx.now, amount, window.ms);
        else addToPeriod(log, window, amount);
      }
      yield* release(id);
    },
  };
}

function* release(id: string): Operation<void> {
  yield { sql: "DELETE FROM reservations WHERE id = ?", params: [id], isIndependent: true };
}

/**
 * Extends all reservations of a holder, so that only those of dead processes expire. It skips reservations that are being
 * settled at this moment.
 */
export function extendReservations(holder: string, ttlMs: number): Write<void> {
  return {
    locks: [],
    isSoft: true,
    *run(tx) {
      const reservations = "SELECT id, key FROM reservations WHERE holder = ? {skip}";
      yield {
        sql: `UPDATE reservations SET expires_at = ? WHERE (id, key) IN (${reservations})`,
        params: [tx.now + ttlMs, holder],
        isIndependent: true,
      };
    },
  };
}

function* readCounts(
  tx: Transaction,
  counts: readonly Count[],
): Operation<ReadonlyMap<string, HitLog>> {
  const names = new Map(counts.map((count) => [nameLog(count), count]));
  const logs = yield* readHitLogs(tx, [...names.keys()]);
  const byKey = new Map<string, HitLog>();
  for (const [name, { key, window }] of names) {
    const log = logs.get(name)!;
    if (!("ms" in window) && log.hits.length === 0)
      addToPeriod(log, window, yield* sumCosts(window));
    byKey.set(key, log);
  }
  return byKey;
}

/** Each period has a log of its own, so that the log of the previous period needs no reset. */
function nameLog({ key, window }: Count): string {
  return "ms" in window ? key : `${key}:${window.start}`;
}

function* sumCosts({ start, usageOf }: CalendarPeriod): Operation<number> {
  const { where, params } = whereClause([
    ["minute >= ?", start],
    ["client = ?", usageOf.key],
    ["channel = ?", usageOf.channel],
  ]);
  const sql = `SELECT COALESCE(SUM(cost), 0) AS cost FROM usage_minutes ${where}`;
  const { rows } = yield { sql, params, isSingle: true, isIndependent: true };
  return Number(rows[0]?.["cost"] ?? 0);
}

/** Adds to the single hit of a period, which expires at the end of the period. */
function addToPeriod(log: HitLog, { end }: CalendarPeriod, amount: number): void {
  const used = (log.hits[0]?.[1] ?? 0) + amount;
  log.hits = [[end, used]];
  log.used = used;
  log.expiresAt = end;
}

function measureUse(
  tx: Transaction,
  { window }: Count,
  log: HitLog,
): Pick<ReservationState, "used" | "resetMs"> {
  if (!("ms" in window)) return { used: log.used, resetMs: Math.max(0, window.end - tx.now) };
  const used = usedWithin(log, tx.now, window.ms);
  const resetMs = used === 0 ? 0 : Math.max(0, getNewestTime(log.hits) + window.ms + 1 - tx.now);
  return { used, resetMs: Math.min(window.ms, resetMs) };
}

function* sumReserved(tx: Transaction, key: string): Operation<number> {
  const { rows } = yield {
    sql: "SELECT COALESCE(SUM(amount), 0) AS amount FROM reservations WHERE key = ? AND expires_at > ?",
    params: [key, tx.now],
    isSingle: true,
    isIndependent: true,
  };
  return Number(rows[0]?.["amount"] ?? 0);
}

/** Returns the amount to reserve, or undefined if the request is refused. */
function fitAmount(
  { amount, max, isGuess }: ReservationRequest,
  { used, reserved }: ReservationState,
): number | undefined {
  const available = max - used - reserved;
  if (available < TOLERANCE) return undefined;
  if (amount <= available + TOLERANCE) return amount;
  return isGuess === true && amount > max && reserved === 0 ? available : undefined;
}

function createRefusal(
  tx: Transaction,
  { amount, max, window, isGuess }: ReservationRequest,
  state: ReservationState,
  { hits }: HitLog,
): NonNullable<Reserved["refused"]> {
  const { used, reserved, resetMs } = state;
  const needed = isGuess === true ? Math.min(amount, max) : amount;
  const excess = used + Math.max(needed, TOLERANCE) - max;
  const isUsedUp = excess > TOLERANCE || max - used < TOLERANCE;
  if (!isUsedUp) return { ...state, retryAfterMs: SOON_MS, isUsedUp };
  if (!("ms" in window)) return { ...state, retryAfterMs: resetMs, isUsedUp };
  const retryAfterMs =
    used > 0 ? computeWait(hits, excess + reserved, tx.now, window.ms) : window.ms;
  return { ...state, retryAfterMs, isUsedUp };
}

function* insertReservation(
  tx: Transaction,
  row: { id: string; key: string; amount: number; holder: string; ttlMs: number },
): Operation<void> {
  yield {
    sql: "INSERT INTO reservations (id, key, amount, holder, expires_at) VALUES (?, ?, ?, ?, ?)",
    params: [row.id, row.key, row.amount, row.holder, tx.now + row.ttlMs],
    hasFractions: true,
    isIndependent: true,
  };
}
