/**
 * The heartbeat: starts a turn of the main session with the queued events and HEARTBEAT.md. Without either, it calls no
 * model.
 */
import { join } from "node:path";
import { clip } from "portico/strings";
import { newId } from "../ids.ts";
import { createRounds, parseDuration, type Rounds } from "portico/schedules";
import type { NewItem } from "portico/store";
import { findFirstActive, isActive } from "./active-hours.ts";
import { hasSubstance, OK } from "../turns/checklist.ts";
import { isAnyQueued, takeEvents, WAKE_NOW } from "./events.ts";
import { MAIN_SESSION, type AgentContext } from "../context.ts";
import type { TurnBody } from "../turns/turn-body.ts";
import { readText } from "../turns/workspace.ts";

const SCHEDULE = "heartbeat";
const RETRY_MS = 10_000;
/** The limits of the pause between two rounds. The upper one exists because the clock may be changed. */
const SHORTEST_SLEEP_MS = 10;
const LONGEST_SLEEP_MS = 3_600_000;
/** The longest part of HEARTBEAT.md in a prompt. */
const CHECKLIST_CHARS = 20_000;
/**
 * Reasons of turns that exist only for events. If no event is left, the checklist alone does not justify such a turn.
 */
const FOR_EVENTS = new Set(["wake", "more events"]);

const PROMPT =
  "This is a heartbeat: read the events since the last heartbeat and your checklist, and do what is necessary. " +
  `If nothing needs attention, answer ${OK}.`;

export interface Heartbeat {
  start(): void;
  /** Call this after a change of the settings. */
  reschedule(): void;
  stop(): Promise<void>;
  /** Starts a heartbeat if there is something to do. Returns the waiting one if a heartbeat is already queued. */
  startNow(reason: string): Promise<{ turnId: string } | undefined>;
  state(): Promise<HeartbeatState>;
  /** Assigns the queued events to the turn and builds its prompt. */
  prepare(turnId: string, reason: string): Promise<Beat | "nothing">;
}

interface HeartbeatState {
  /** The time of the next regular heartbeat within the active hours, in epoch ms; undefined if there is none. */
  nextAt: number | undefined;
  /** The interval between regular heartbeats; 0 if they are disabled. */
  everyMs: number;
  /** The id of a heartbeat turn that has not begun or waits for its next attempt. */
  waitingTurn: string | undefined;
}

interface Beat {
  message: string;
  untrusted: { label: string; text: string }[];
  /** Items to enqueue when this turn ends: events that did not fit need another turn. */
  followUp: NewItem[];
}

export function createHeartbeat(agent: AgentContext, { retryMs = RETRY_MS } = {}): Heartbeat {
  return new MainHeartbeat(agent, retryMs);
}

class MainHeartbeat implements Heartbeat {
  readonly #agent: AgentContext;
  readonly #rounds: Rounds;
  /** The start of the last heartbeat on the monotonic clock. */
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
    // No heartbeat can start before the cooldown is over.
    this.#unsubscribe = this.#store.onWork(WAKE_NOW, () => this.#rounds.poke(this.#cooldownMs()));
    this.#rounds.start();
  }

  reschedule(): void {
    this.#rounds.poke();
  }

  stop(): Promise<void> {
    this.#unsubscribe();
    return this.#rounds.stop();
  }

  async startNow(reason: string): Promise<{ turnId: string } | undefined> {
    return (await this.#hasWork()) ? this.#begin(reason) : undefined;
  }

  async state(): Promise<HeartbeatState> {
    const everyMs = this.#everyMs;
    // Right after a start or a change of the settings, the stored schedule may not exist yet.
    const dueAt = (await this.#store.schedules.nextDueAt(SCHEDULE)) ?? this.#store.now() + everyMs;
    const { activeHours } = this.#settings;
    const nextAt = everyMs > 0 ? findFirstActive(activeHours, dueAt, everyMs) : undefined;
    return { nextAt, everyMs, waitingTurn: await this.#waitingTurn() };
  }

  async prepare(turnId: string, reason: string): Promise<Beat | "nothing"> {
    // This is half of the length at which a session is summarised, at four characters per token.
    const chars = this.#agent.defaults().compactAtTokens * 2;
    const { count, text, rest, isMore } = await takeEvents(this.#store, turnId, chars);
    const checklist = await this.#checklist();
    if (count === 0 && (checklist === undefined || FOR_EVENTS.has(reason))) return "nothing";
    const message = [this.#settings.prompt ?? PROMPT, `Reason: ${reason}. Events: ${count}.`];
    if (checklist !== undefined)
      message.push(`HEARTBEAT.md:\n\n${clip(checklist, CHECKLIST_CHARS)}`);
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
    const storedSchedule = await schedules.get(SCHEDULE, MAIN_SESSION);
    if (everyMs === 0) {
      if (storedSchedule) await schedules.delete(SCHEDULE, MAIN_SESSION);
      return;
    }
    if ((storedSchedule?.body as { everyMs?: number } | undefined)?.everyMs === everyMs) return;
    await schedules.put({
      kind: SCHEDULE,
      id: MAIN_SESSION,
      enabled: true,
      nextAt: this.#store.now() + everyMs,
      body: { everyMs },
    });
  }

  /** Starts the regular heartbeat if it is due. Returns the time until the next one, in ms. */
  async #beat(): Promise<number> {
    const store = this.#store;
    const [dueSchedule] = await store.schedules.due(SCHEDULE, store.now(), 1);
    if (dueSchedule) {
      const items = (await this.#shouldBeat()) ? [this.#turnItem("interval")] : [];
      if (items.length > 0) this.#lastStart = performance.now();
      const next = store.now() + this.#everyMs;
      // Only the gateway that advances the time starts the turn, so that two gateways never both do.
      await store.tick(
        { kind: dueSchedule.kind, id: dueSchedule.id, expectedNext: dueSchedule.nextAt, next },
        { items },
      );
    }
    return ((await store.schedules.nextDueAt(SCHEDULE)) ?? Number.POSITIVE_INFINITY) - store.now();
  }

  async #shouldBeat(): Promise<boolean> {
    if (!isActive(this.#settings.activeHours, new Date(this.#store.now()))) return false;
    return (await this.#hasWork()) && (await this.#waitingTurn()) === undefined;
  }

  /**
   * Starts a heartbeat for urgent wakes, but not within the cooldown of the previous one: wakes that arrive meanwhile share
   * the next heartbeat. Returns the time until the next check, in ms.
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
    const waitingTurnId = await this.#waitingTurn();
    if (waitingTurnId !== undefined) return { turnId: waitingTurnId };
    const item = this.#turnItem(reason);
    await this.#store.enqueue({ items: [item] });
    return { turnId: item.id };
  }

  /**
   * Returns the id of a heartbeat turn that has not begun or waits for its next attempt. It will take all events queued
   * by then.
   */
  async #waitingTurn(): Promise<string | undefined> {
    const turns = await this.#store.items.list({
      kind: "turn",
      lane: MAIN_SESSION,
      state: "queued",
      limit: 1000,
    });
    const waitingTurn = turns.find(({ body }) => {
      const { heartbeat, paused } = body as TurnBody;
      // A paused turn no longer takes events.
      return heartbeat !== undefined && paused === undefined;
    });
    return waitingTurn?.id;
  }

  async #hasWork(): Promise<boolean> {
    return (await isAnyQueued(this.#store)) || (await this.#checklist()) !== undefined;
  }

  /** Returns the text of HEARTBEAT.md; undefined if it has only headings, comments and blank lines. */
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
