/** The heartbeat: hands what was queued, and HEARTBEAT.md, to the main session in one turn; nothing to say, no model call. */
import { join } from "node:path";
import { clip } from "portico/strings";
import { newId } from "../ids.ts";
import { createRounds, parseDuration, type Rounds } from "portico/schedules";
import type { NewItem } from "portico/store";
import { firstActive, isActive } from "./active-hours.ts";
import { hasSubstance, OK } from "../turns/checklist.ts";
import { isAnyQueued, takeEvents, WAKE_NOW } from "./events.ts";
import { MAIN_SESSION, type AgentContext } from "../context.ts";
import type { TurnBody } from "../turns/turn-body.ts";
import { readText } from "../turns/workspace.ts";

const SCHEDULE = "heartbeat";
const RETRY_MS = 10_000;
/** Between two looks; the clock may have been changed. */
const SHORTEST_SLEEP_MS = 10;
const LONGEST_SLEEP_MS = 3_600_000;
/** Of HEARTBEAT.md. */
const CHECKLIST_CHARS = 20_000;
/** Turns that were started for events: without any, the checklist alone is no reason for them. */
const FOR_EVENTS = new Set(["wake", "more events"]);

const PROMPT =
  "This is a heartbeat: read the events since the last heartbeat and your checklist, and do what is necessary. " +
  `If nothing needs attention, answer ${OK}.`;

export interface Heartbeat {
  start(): void;
  /** The settings have changed. */
  plan(): void;
  stop(): Promise<void>;
  /** Begins one where there is something to do; where one waits already, that is the one. */
  now(reason: string): Promise<{ turnId: string } | undefined>;
  state(): Promise<HeartbeatState>;
  /** Takes the queued events into the turn, and words its prompt. */
  prepare(turnId: string, reason: string): Promise<Beat | "nothing">;
}

interface HeartbeatState {
  /** Of the next regular beat within the active hours; `undefined` where there is none. */
  nextAt: number | undefined;
  /** Between two; 0: none. */
  everyMs: number;
  /** A heartbeat's turn that has not begun, or waits for its next attempt. */
  waitingTurn: string | undefined;
}

interface Beat {
  message: string;
  untrusted: { label: string; text: string }[];
  /** What goes into the queue with the end of this turn: the events that it had no room for need another. */
  followUp: NewItem[];
}

export function createHeartbeat(agent: AgentContext, { retryMs = RETRY_MS } = {}): Heartbeat {
  return new MainHeartbeat(agent, retryMs);
}

class MainHeartbeat implements Heartbeat {
  readonly #agent: AgentContext;
  readonly #rounds: Rounds;
  /** When the last beat began, by a clock that is never set. */
  #lastStart = Number.NEGATIVE_INFINITY;
  #unsubscribe = () => {};

  constructor(agent: AgentContext, retryMs: number) {
    this.#agent = agent;
    this.#rounds = createRounds({
      round: () => this.#round(),
      retryMs,
      failed: (error) => agent.ctx.log.warn({ err: error }, "heartbeat failed"),
    });
  }

  start(): void {
    // There is nothing to look at before the cooldown is over.
    this.#unsubscribe = this.#store.onWork(WAKE_NOW, () => this.#rounds.poke(this.#cooldownMs()));
    this.#rounds.start();
  }

  plan(): void {
    this.#rounds.poke();
  }

  stop(): Promise<void> {
    this.#unsubscribe();
    return this.#rounds.stop();
  }

  async now(reason: string): Promise<{ turnId: string } | undefined> {
    return (await this.#hasWork()) ? this.#begin(reason) : undefined;
  }

  async state(): Promise<HeartbeatState> {
    const everyMs = this.#everyMs;
    // Right after a start, or a change of the settings, the schedule does not follow them yet.
    const dueAt = (await this.#store.schedules.nextDueAt(SCHEDULE)) ?? this.#store.now() + everyMs;
    const { activeHours } = this.#settings;
    const nextAt = everyMs > 0 ? firstActive(activeHours, dueAt, everyMs) : undefined;
    return { nextAt, everyMs, waitingTurn: await this.#waitingTurn() };
  }

  async prepare(turnId: string, reason: string): Promise<Beat | "nothing"> {
    // Half of what a session may hold before it is summed up, at four characters to a token.
    const chars = this.#agent.defaults().compactAtTokens * 2;
    const { count, text, rest, isMore } = await takeEvents(this.#store, turnId, chars);
    const list = await this.#checklist();
    if (count === 0 && (list === undefined || FOR_EVENTS.has(reason))) return "nothing";
    const message = [this.#settings.prompt ?? PROMPT, `Reason: ${reason}. Events: ${count}.`];
    if (list !== undefined) message.push(`HEARTBEAT.md:\n\n${clip(list, CHECKLIST_CHARS)}`);
    return {
      message: message.join("\n\n"),
      untrusted: count === 0 ? [] : [{ label: "queued events", text }],
      followUp: rest.length > 0 || isMore ? [...rest, this.#turnItem("more events")] : [],
    };
  }

  /** Starts all that is due. Returns the time until the next round, in ms. */
  async #round(): Promise<number> {
    await this.#schedule();
    const idleMs = Math.min(await this.#beat(), await this.#beatForWakes());
    return Math.min(Math.max(idleMs, SHORTEST_SLEEP_MS), LONGEST_SLEEP_MS);
  }

  /** Brings the stored schedule in line with the settings. */
  async #schedule(): Promise<void> {
    const { schedules } = this.#store;
    const everyMs = this.#everyMs;
    const stored = await schedules.get(SCHEDULE, MAIN_SESSION);
    if (everyMs === 0) {
      if (stored) await schedules.delete(SCHEDULE, MAIN_SESSION);
      return;
    }
    if ((stored?.body as { everyMs?: number } | undefined)?.everyMs === everyMs) return;
    await schedules.put({
      kind: SCHEDULE,
      id: MAIN_SESSION,
      enabled: true,
      nextAt: this.#store.now() + everyMs,
      body: { everyMs },
    });
  }

  /** Starts the regular beat where it is due. Returns the time until the next one, in ms. */
  async #beat(): Promise<number> {
    const store = this.#store;
    const [due] = await store.schedules.due(SCHEDULE, store.now(), 1);
    if (due) {
      const items = (await this.#isBeatWanted()) ? [this.#turnItem("interval")] : [];
      if (items.length > 0) this.#lastStart = performance.now();
      const next = store.now() + this.#everyMs;
      // Only the gateway that advances the time starts the turn, so that two gateways never both do.
      await store.tick({ kind: due.kind, id: due.id, expectedNext: due.nextAt, next }, { items });
    }
    return ((await store.schedules.nextDueAt(SCHEDULE)) ?? Number.POSITIVE_INFINITY) - store.now();
  }

  async #isBeatWanted(): Promise<boolean> {
    if (!isActive(this.#settings.activeHours, new Date(this.#store.now()))) return false;
    return (await this.#hasWork()) && (await this.#waitingTurn()) === undefined;
  }

  /**
   * A wake that cannot wait starts a beat at once, but no two within the cooldown: the second takes along what came
   * meanwhile. Returns the time until the next look, in ms.
   */
  async #beatForWakes(): Promise<number> {
    if ((await this.#store.pending(MAIN_SESSION, WAKE_NOW)) === 0) return Number.POSITIVE_INFINITY;
    const cooldownMs = this.#cooldownMs();
    if (cooldownMs > 0) return cooldownMs;
    await this.#begin("wake");
    return Number.POSITIVE_INFINITY;
  }

  #cooldownMs(): number {
    return Math.max(0, this.#lastStart + this.#settings.cooldownMs - performance.now());
  }

  async #begin(reason: string): Promise<{ turnId: string }> {
    this.#lastStart = performance.now();
    const waiting = await this.#waitingTurn();
    if (waiting !== undefined) return { turnId: waiting };
    const item = this.#turnItem(reason);
    await this.#store.enqueue({ items: [item] });
    return { turnId: item.id };
  }

  /** A heartbeat's turn that has not begun (or waits for its next attempt): it will take all that is queued by then. */
  async #waitingTurn(): Promise<string | undefined> {
    const turns = await this.#store.items.list({
      kind: "turn",
      lane: MAIN_SESSION,
      state: "queued",
      limit: 1000,
    });
    const waiting = turns.find(({ body }) => {
      const { heartbeat, paused } = body as TurnBody;
      // A paused turn takes no more events.
      return heartbeat !== undefined && paused === undefined;
    });
    return waiting?.id;
  }

  async #hasWork(): Promise<boolean> {
    return (await isAnyQueued(this.#store)) || (await this.#checklist()) !== undefined;
  }

  /** HEARTBEAT.md, where it holds more than headings and blank lines. */
  async #checklist(): Promise<string | undefined> {
    const { workspace } = this.#agent.settings(undefined);
    const text = await readText(join(workspace, "HEARTBEAT.md"));
    return text !== undefined && hasSubstance(text) ? text : undefined;
  }

  #turnItem(reason: string): NewItem {
    const body: TurnBody = {
      message: "",
      source: "heartbeat",
      principal: "owner",
      heartbeat: reason,
      model: this.#settings.model,
    };
    const { maxAttempts } = this.#agent.defaults();
    return { id: newId("turn"), lane: MAIN_SESSION, kind: "turn", body, maxAttempts };
  }

  get #settings() {
    return this.#agent.defaults().heartbeat;
  }

  get #everyMs(): number {
    return parseDuration(this.#settings.every, undefined, 0);
  }

  get #store() {
    return this.#agent.store();
  }
}
