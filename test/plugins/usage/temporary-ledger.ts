/** A ledger on a real store that can be made to fail, with a clock that tests turn. */
import type { ChatRecord } from "portico/models";
import type { Store } from "portico/store";
import { emptyLedger, Ledger } from "../../../plugins/usage/ledger.ts";
import type { OwnPrices } from "../../../plugins/usage/schema.ts";
import { temporaryStore } from "../store/temporary-store.ts";
import { quietLog } from "../../support/quiet-log.ts";

export interface LedgerScene {
  ledger: Ledger;
  store: Store;
  /** Returns the log lines since the last call. */
  readLog(): string[];
  /** Makes the store refuse all writes. */
  fail(on: boolean): void;
  turn(ms: number): void;
  /** The ledger of the next version, after a reload of the plugin. */
  successor(): Ledger;
  /** Another gateway on the same store, on the same clock. */
  another(options?: LedgerOptions): Ledger;
}
export interface LedgerOptions {
  keep?: number;
  prices?: OwnPrices;
  /** The default is nobody. */
  sharedBy?: Store["sharedBy"];
}

export function withLedger(
  work: (scene: LedgerScene) => Promise<void>,
  options: LedgerOptions = {},
) {
  return async () => {
    const temporary = temporaryStore();
    const lines: unknown[][] = [];
    let failing = false;
    const unwritten = emptyLedger();
    const ledgerOn = (store: Store, options: LedgerOptions, state = emptyLedger()) => {
      const {
        keep = 100_000,
        prices = { m: { input: 1, output: 0 } },
        sharedBy = "nobody",
      } = options;
      const usage: Store["usage"] = {
        ...store.usage,
        append: (...what) =>
          failing ? Promise.reject(new Error("disk full")) : store.usage.append(...what),
      };
      const services = {
        store: () => ({ ...store, sharedBy, now: () => temporary.clock.now, usage }),
        log: quietLog(lines),
        prices,
        keepRequests: keep,
      };
      return new Ledger(services, state);
    };
    try {
      await work({
        ledger: ledgerOn(temporary.store, options, unwritten),
        successor: () => ledgerOn(temporary.store, options, unwritten),
        store: temporary.store,
        readLog: () => lines.splice(0).map((line) => String(line.at(-1))),
        fail: (on) => {
          failing = on;
        },
        turn: (ms) => {
          temporary.clock.now += ms;
        },
        another: (other = {}) => ledgerOn(temporary.another(), other),
      });
    } finally {
      await temporary.remove();
    }
  };
}

/** A request that the model `m` has answered. */
export function record(tokens: number, key?: string, more: Partial<ChatRecord> = {}): ChatRecord {
  return {
    requestId: "r",
    client: key === undefined ? { kind: "owner" } : { kind: "key", key },
    channel: "c",
    provider: "openai",
    model: "m",
    status: 200,
    usage: { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens },
    ms: 1,
    firstByteMs: 1,
    attempts: 1,
    stream: false,
    composite: false,
    ...more,
  };
}
