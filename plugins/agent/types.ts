/** What the agent shares with webhooks, cron, polls, hooks and the dashboard. Types only: nobody imports this at run time. */
import type { DeliveryTarget, StoredTarget } from "portico/deliveries";
import type { NewItem } from "portico/store";
import type { Principal } from "portico";
import type { Access } from "./access/access.ts";
import type { GrantSource } from "./access/grants.ts";

declare module "portico" {
  interface Contributions {
    grant: GrantSource;
  }
  interface Services {
    agent: AgentService;
  }
  interface ToolCall {
    /** The directory with the files of the turn's agent; default: the gateway's workspace. */
    workspace?: string;
    /** What the call's principal may use beside the tool itself. */
    access: Access;
  }
  interface EventEffects {
    "agent:bootstrap": { changes: "bootstrapFiles" | "systemPrompt" };
  }
  interface Events {
    "agent:bootstrap": {
      /** Changeable: the files that go into the system prompt, in order. */
      bootstrapFiles: BootstrapFile[];
      /** Changeable: the part of the prompt before the files. */
      systemPrompt: string;
      workspace: string;
      agentId: string;
      source: string;
      turnId: string;
    };
    "agent:completed": {
      turnId: string;
      sessionId: string;
      agentId: string;
      source: string;
      /** The final answer; empty where a heartbeat had nothing to say. */
      content: string;
      model: string;
      steps: number;
      attempts: number;
      usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
      /** From the beginning of this attempt. */
      ms: number;
      context?: Record<string, unknown>;
    };
    "agent:failed": {
      turnId: string;
      sessionId: string;
      agentId: string;
      source: string;
      error: { code: string; message: string };
      attempts: number;
      /** The turn will be tried again. */
      willRetry: boolean;
      /** When, as ISO 8601. */
      retryAt?: string;
      context?: Record<string, unknown>;
    };
    /** A tool was called in a turn; for feeds. */
    "agent:tool": {
      turnId: string;
      sessionId: string;
      tool: string;
      ok: boolean;
      ms: number;
      error?: string;
    };
    /** A tool call waits for the owner's yes or no: `portico turns confirm|deny`. */
    "agent:confirm": {
      turnId: string;
      sessionId: string;
      agentId: string;
      source: string;
      callId: string;
      tool: string;
      /** As the model wrote them. */
      arguments: string;
      /** When the call is refused unless the owner has decided, as ISO 8601. */
      until: string;
    };
    /** The result of a turn with `delivery: "announce"` (or a heartbeat's word) was posted to the main session. */
    "agent:announced": { content: string; source: string; turnId?: string; sessionId?: string };
    /** With its transcript: what was kept for it can go. */
    "session:deleted": { sessionId: string };
    /** A name got another holder, or none: the files of the last one can go. */
    "principal:forgotten": { principal: Principal };
    "command:new": CommandContext;
    "command:reset": CommandContext;
    "command:stop": CommandContext;
  }
}

/** One of the workspace's files that go into the system prompt (`AGENTS.md`, …), as `agent:bootstrap` shows and changes it. */
export interface BootstrapFile {
  /** `AGENTS.md` */
  name: string;
  path: string;
  content: string;
  /** The file is not there: `content` is empty, and it is left out of the prompt unless a hook fills it. */
  missing: boolean;
  /** Strangers have a part in its content: the prompt marks it as data. */
  fromOutside?: boolean;
}

/** What handlers of `command:new`, `command:reset` and `command:stop` get. */
export interface CommandContext {
  sessionKey: string;
  /** `new`, `reset`, `stop`. */
  command: string;
  /** The words after the command. */
  args: string;
  workspace: string;
  /** `cli`, `chat`, … */
  source: string;
  /** What the session held until now; with `new` and `reset`. */
  previousSession?: { messages: { role: string; content: string }[] };
}

/** The service `agent`: turns and wakes, to be started, followed and stopped. */
export interface AgentService {
  /**
   * Returns the delivery as it may be stored before a turn is made of it: its secrets are references, or encrypted.
   * Throws where results of this principal are never delivered to.
   */
  sealDelivery(delivery: TurnRequest["delivery"], principal: Principal): TurnRequest["delivery"];
  /**
   * Throws 404 `model_not_found` or 400 if no turn could use this model or channel: unknown names, and `agent`, which
   * cannot be its own model. Call it before you accept a turn from outside, a job or a poll; `startTurn` calls it itself.
   * `principal`: whose turn it will be. Default: that of the current call.
   */
  checkModel(turn: Pick<TurnRequest, "model" | "channel" | "principal">): Promise<void>;
  /**
   * Makes the durable work item of a turn, without writing anything: put it into one `store.enqueue`, `tick` or
   * `commitSchedule` with your own rows. The turn runs as soon as that is committed. The item may still be changed
   * (`runAt`, `maxAttempts`, `settle`), not its `id`, `lane` and `kind`.
   */
  turnItem(request: TurnRequest): { turnId: string; sessionId: string; item: NewItem };
  /**
   * Before files are written for a principal. Throws `storage_full` (507) where they would exceed what its transcripts and
   * files may take together.
   */
  admitFiles(principal: Principal, bytes: number): Promise<void>;
  /** As `turnItem`, for a wake event. */
  wakeItem(request: WakeRequest): { eventId: string; item: NewItem };

  /** `turnItem` and `enqueue`. Resolves when it is durable, with `wait` when the turn has ended. */
  startTurn(
    request: TurnRequest,
    options?: { wait?: boolean; signal?: AbortSignal },
  ): Promise<TurnStatus>;
  wake(request: WakeRequest): Promise<{ eventId: string }>;

  turn(turnId: string): Promise<TurnStatus | undefined>;
  event(eventId: string): Promise<WakeStatus | undefined>;
  /**
   * Resolves when the turn has ended, here or in another gateway. Throws `not_found`, or `timeout` (504). `refusedAtOnce`:
   * also `hook_unavailable` (503), while the turn itself goes on being tried.
   */
  waitFor(
    turnId: string,
    options?: { signal?: AbortSignal; timeoutMs?: number; refusedAtOnce?: boolean },
  ): Promise<TurnStatus>;
  /** The answer to a caller who waited. Throws the error of a turn that failed, with its ids in `details`. */
  endOf(status: TurnStatus): TurnEnd;
  /** Stops a turn, running or not; false where it had ended. */
  cancel(turnId: string): Promise<boolean>;
  /**
   * Posts a text to the main session and the event feed: as the agent's own words where the owner is the principal, else
   * as an event from outside.
   */
  announce(
    text: string,
    from: { source: string; turnId?: string; sessionId?: string; principal?: Principal },
  ): Promise<void>;
  /** Runs the heartbeat now, whatever the hour. Returns its turn, or nothing where there was nothing to do. */
  heartbeat(reason: string): Promise<{ turnId: string } | undefined>;
  /** The session's id of the agent's own conversation: `main`. */
  readonly mainSession: string;
  /** What a principal may use, as the configuration has it now. */
  access(principal: Principal): Promise<Access>;
  /** Wraps text from outside for a prompt: says that it is data, inside a fence with a random id. */
  fence(label: string, text: string): string;
}

/** A turn to be run: what to do, in which session, by which agent and model. */
export interface TurnRequest {
  /** The task, in trusted words (a template's text). */
  message: string;
  /** Data from outside: each is fenced and put after the message. */
  untrusted?: readonly { label: string; text: string }[];
  /** Where `message` only says what to do with `untrusted`: its words, as `message:received` shows and changes them. */
  content?: string;
  /** Default: a session of its own, `<source>:<turn id>`. Invisible characters of a name are removed. */
  session?: string;
  /**
   * No caller chose the session's name: after `store.retention.sessionsDays` without use, it is deleted with its transcript.
   * Default: true where `session` is left out.
   */
  temporary?: boolean;
  /** `webhook`, `cron`, `poll`, `cli`, … : shows in events and in the transcript. */
  source: string;
  /**
   * On whose behalf it runs: decides its tools, files and sessions. Default: that of the call which the plugin serves,
   * and `outside`, which has no tools, where there is none.
   */
  principal?: Principal;
  model?: string;
  /** Only this channel. */
  channel?: string;
  /** Which agent of `agents.list`; default `main`. */
  agent?: string;
  /** Free data: shown to the model as fenced data, and carried in the turn's events. */
  context?: Record<string, unknown>;
  /** `announce`: the answer is posted to the main session and the event feed too; or where the turn's end is posted. */
  delivery?: "announce" | "none" | DeliveryTarget | StoredTarget;
  /** Default `agents.defaults.timeoutMs`. */
  timeoutMs?: number;
  /** A known id makes it idempotent: `turn_…`, only `[A-Za-z0-9_-]`. */
  turnId?: string;
  /** `message:received` was emitted (and its effects applied) already; else the turn does it when it begins. */
  received?: boolean;
}

/** An event for the next heartbeat of the main session, or (`mode: "now"`) for one of its own. */
export interface WakeRequest {
  text: string;
  metadata?: Record<string, unknown>;
  /** Default `next-heartbeat`. */
  mode?: "next-heartbeat" | "now";
  source?: string;
  /** Who caused the event; as in `TurnRequest`. */
  principal?: Principal;
  /** A known id makes it idempotent: `evt_…`. */
  eventId?: string;
}

/** JSON-ready: times are ISO 8601. */
export interface TurnStatus {
  turnId: string;
  sessionId: string;
  /** `waiting`: for the owner's yes or no to tool calls (`waitingCalls`). */
  state: "queued" | "running" | "waiting" | "done" | "dead" | "cancelled";
  source: string;
  principal: Principal;
  attempts: number;
  createdAt: string;
  startedAt?: string;
  finishedAt?: string;
  /** When the next attempt comes, between two. */
  retryAt?: string;
  /** The final answer of a turn that is done. */
  result?: string;
  /** Model, steps and usage of a turn that runs are those so far. */
  model?: string;
  steps?: number;
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
  /** Of the last failed attempt; `status` is the HTTP status that belongs to it. */
  error?: { code: string; message: string; status?: number };
  /** Tool calls that the owner has to allow or refuse before the turn continues. */
  waitingCalls?: WaitingCall[];
}

/** A tool call that waits for the owner's yes or no. */
export interface WaitingCall {
  callId: string;
  /** Among the calls of its step. */
  index: number;
  tool: string;
  /** As the model wrote them. */
  arguments: string;
  askedAt: string;
  /** Then the call is refused. */
  until: string;
  /** The owner's decision, where other calls of the step still wait. */
  decision?: "confirmed" | "denied";
}

/** One request to the model, and the tool calls that it answered with. */
export interface TracedStep {
  model: string;
  /** Of the request to the model, as in `GET /requests`, where it is listed once it has ended. */
  requestId: string;
  /** When the request began. Turns of earlier versions have none. */
  startedAt?: string;
  /** The response is not complete: `ms` is the time so far. */
  isRunning?: true;
  ms: number;
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
  /** US dollars; absent where the price is not known. */
  cost?: number;
  error?: string;
  calls: TracedCall[];
  /** How many earlier calls of the step are left out, because traces have a limited size. */
  omittedCalls?: number;
}

export interface TracedCall {
  tool: string;
  /** Cut where it is long, as is `outcome`. */
  arguments: string;
  startedAt?: string;
  /** The call has not ended: it has no `outcome` and no `ok`, and `ms` is the time so far. */
  isRunning?: true;
  outcome?: string;
  ok?: boolean;
  ms: number;
  /** Where the call had to wait for the owner. `interrupted`: it was allowed, and cut off while it ran. */
  decision?: "confirmed" | "denied" | "expired" | "interrupted";
}

/** An attempt at a turn that failed, or that ended with its gateway: code `shutdown` after a stop, `interrupted` after a kill. */
export interface FailedAttempt {
  /** From 1. */
  attempt: number;
  error: { code: string; message: string };
  /** The newest of its steps. */
  trace: TracedStep[];
  /** How many earlier steps are left out, because traces have a limited size. */
  omittedSteps: number;
}

/** A turn with what it did. JSON-ready. */
export interface TurnReport extends TurnStatus {
  /** The steps of the latest attempt. While the turn runs, the last step or call may have `isRunning`. */
  trace: TracedStep[];
  /** How many earlier steps of a running turn are left out, because its trace has a limited size. */
  omittedSteps?: number;
  /** The ten newest attempts before the latest one, oldest first. */
  failedAttempts: FailedAttempt[];
  /** US dollars, of all steps of the latest attempt, the omitted ones too; absent if no price is known. */
  cost?: number;
}

/** What a caller that waits for a turn gets. */
export interface TurnEnd extends TurnStatus {
  status: 200;
  message: string;
}

/** How a wake stands. JSON-ready: times are ISO 8601. */
export interface WakeStatus {
  eventId: string;
  /** `running`: a heartbeat turn has it in its prompt. `done`: that turn has finished. */
  state: "queued" | "running" | "done" | "dead" | "cancelled";
  attempts: number;
  createdAt: string;
  startedAt?: string;
  finishedAt?: string;
  turnId?: string;
  /** What the heartbeat's turn answered. */
  result?: string;
  error?: { code: string; message: string };
}
