/** The heartbeat: hands what was queued, and HEARTBEAT.md, to the main session in one turn; nothing to say, no model call. */
import { join } from "node:path";
import { clip } from "portico/strings";
import { newId } from "../ids.ts";
import { createRounds, parseDuration } from "portico/schedules";
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
  "This is a heartbeat: look at what has come in since the last one and at your checklist, and do what needs doing. " +
  `Where nothing needs attention, answer ${OK}.`;

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
  const { ctx } = agent;
  /** By a clock that is never set. */
  let lastStart = Number.NEGATIVE_INFINITY;
  let unsubscribe = () => {};

  const settings = () => agent.defaults().heartbeat;
  const now = () => agent.store().now();
  const everyMs = () => parseDuration(settings().every, undefined, 0);

  const rounds = createRounds({
    round,
    retryMs,
    failed: (error) => ctx.log.warn({ err: error }, "heartbeat failed"),
  });

  /** All that may be due, whatever the last round came to. */
  async function round(): Promise<number> {
    await schedule();
    const idleMs = Math.min(await beat(), await beatForWakes());
    return Math.min(Math.max(idleMs, SHORTEST_SLEEP_MS), LONGEST_SLEEP_MS);
  }

  /** Keeps the schedule as the settings have it. */
  async function schedule(): Promise<void> {
    const { schedules } = agent.store();
    const every = everyMs();
    const known = await schedules.get(SCHEDULE, MAIN_SESSION);
    if (every === 0) {
      if (known) await schedules.delete(SCHEDULE, MAIN_SESSION);
      return;
    }
    if ((known?.body as { everyMs?: number } | undefined)?.everyMs === every) return;
    const body = { everyMs: every };
    await schedules.put({
      kind: SCHEDULE,
      id: MAIN_SESSION,
      enabled: true,
      nextAt: now() + every,
      body,
    });
  }

  /** The regular beat. Returns in how many ms the next one is due. */
  async function beat(): Promise<number> {
    const store = agent.store();
    const [due] = await store.schedules.due(SCHEDULE, now(), 1);
    if (due) {
      const wanted = isActive(settings().activeHours, new Date(now())) && (await anythingToDo());
      const items = wanted && (await waiting()) === undefined ? [turnItem("interval")] : [];
      if (items.length > 0) lastStart = performance.now();
      // only the gateway that advances the time starts the turn: two gateways never both do
      await store.tick(
        { kind: due.kind, id: due.id, expectedNext: due.nextAt, next: now() + everyMs() },
        { items },
      );
    }
    return ((await store.schedules.nextDueAt(SCHEDULE)) ?? Number.POSITIVE_INFINITY) - now();
  }

  /** A wake that cannot wait starts a beat at once, but no two within the cooldown: the second takes along what came meanwhile. */
  async function beatForWakes(): Promise<number> {
    if ((await agent.store().pending(MAIN_SESSION, WAKE_NOW)) === 0)
      return Number.POSITIVE_INFINITY;
    if (cooldown() > 0) return cooldown();
    await begin("wake");
    return Number.POSITIVE_INFINITY;
  }

  const cooldown = () => Math.max(0, lastStart + settings().cooldownMs - performance.now());

  async function begin(reason: string): Promise<{ turnId: string }> {
    lastStart = performance.now();
    const known = await waiting();
    if (known !== undefined) return { turnId: known };
    const item = turnItem(reason);
    await agent.store().enqueue({ items: [item] });
    return { turnId: item.id };
  }

  /** A heartbeat's turn that has not begun (or waits for its next attempt): it will take all that is queued by then. */
  async function waiting(): Promise<string | undefined> {
    const turns = await agent
      .store()
      .items.list({ kind: "turn", lane: MAIN_SESSION, state: "queued", limit: 1000 });
    return turns.find(({ body }) => {
      const { heartbeat, paused } = body as TurnBody;
      // one that has paused takes no more events
      return heartbeat !== undefined && paused === undefined;
    })?.id;
  }

  async function anythingToDo(): Promise<boolean> {
    return (await isAnyQueued(agent.store())) || (await checklist()) !== undefined;
  }

  /** HEARTBEAT.md, where it holds more than headings and blank lines. */
  async function checklist(): Promise<string | undefined> {
    const text = await readText(join(agent.settings(undefined).workspace, "HEARTBEAT.md"));
    return text !== undefined && hasSubstance(text) ? text : undefined;
  }

  function turnItem(reason: string): NewItem {
    const { model } = settings();
    const body: TurnBody = {
      message: "",
      source: "heartbeat",
      principal: "owner",
      heartbeat: reason,
      model,
    };
    return {
      id: newId("turn"),
      lane: MAIN_SESSION,
      kind: "turn",
      body,
      maxAttempts: agent.defaults().maxAttempts,
    };
  }

  return {
    start() {
      // there is nothing to look at before the cooldown is over
      unsubscribe = agent.store().onWork(WAKE_NOW, () => rounds.poke(cooldown()));
      rounds.start();
    },
    plan: () => rounds.poke(),
    stop() {
      unsubscribe();
      return rounds.stop();
    },
    async now(reason) {
      return (await anythingToDo()) ? begin(reason) : undefined;
    },
    async state() {
      const every = everyMs();
      // right after a start, or a change of the settings, the schedule is not what they say yet
      const dueAt = (await agent.store().schedules.nextDueAt(SCHEDULE)) ?? now() + every;
      const nextAt = every > 0 ? firstActive(settings().activeHours, dueAt, every) : undefined;
      return { nextAt, everyMs: every, waitingTurn: await waiting() };
    },
    async prepare(turnId, reason) {
      // half of what a session may hold before it is summed up, at four characters to a token
      const { count, text, rest, isMore } = await takeEvents(
        agent.store(),
        turnId,
        agent.defaults().compactAtTokens * 2,
      );
      const list = await checklist();
      if (count === 0 && (list === undefined || FOR_EVENTS.has(reason))) return "nothing";
      const message = [settings().prompt ?? PROMPT, `Reason: ${reason}. Events: ${count}.`];
      if (list !== undefined) message.push(`HEARTBEAT.md:\n\n${clip(list, CHECKLIST_CHARS)}`);
      return {
        message: message.join("\n\n"),
        untrusted: count === 0 ? [] : [{ label: "queued events", text }],
        followUp: rest.length > 0 || isMore ? [...rest, turnItem("more events")] : [],
      };
    },
  };
}
