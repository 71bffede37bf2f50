/**
 * The types that the agent shares with webhooks, cron, polls, hooks and the dashboard. This module has no code at run
 * time.
 */
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
    /** The directory with the files of the turn's agent. Default: the gateway's workspace. */
    workspace?: string;
    /** The rights of the call's principal. */
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
      /** The text of the final response; empty if a heartbeat had nothing to report. */
      content: string;
      model: string;
      steps: number;
      attempts: number;
      usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
      /** The time since the beginning of this attempt. */
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
      /** The time of the next attempt, in ISO 8601. */
      retryAt?: string;
      context?: Record<string, unknown>;
    };
    /** A turn has called a tool. Feeds show it. */
    "agent:tool": {
      turnId: string;
      sessionId: string;
      tool: string;
      ok: boolean;
      ms: number;
      error?: string;
    };
    /** A tool call waits for the owner's approval: `portico turns confirm|deny`. */
    "agent:confirm": {
      turnId: string;
      sessionId: string;
      agentId: string;
      source: string;
      callId: string;
      tool: string;
      /** The arguments as the model wrote them. */
      arguments: string;
      /** The time at which the call is refused unless the owner has decided, in ISO 8601. */
      until: string;
    };
    /** The result of a turn with `delivery: "announce"`, or of a heartbeat, was posted to the main session. */
    "agent:announced": { content: string; source: string; turnId?: string; sessionId?: string };
    /** A session was deleted with its transcript, so data that belongs to it can be deleted. */
    "session:deleted": { sessionId: string };
    /** The name of a principal has a new holder or none, so files of the previous holder can be deleted. */
    "principal:forgotten": { principal: Principal };
    "command:new": CommandContext;
    "command:reset": CommandContext;
    "command:stop": CommandContext;
  }
}

/** A workspace file for the system prompt (`AGENTS.md`, …), as handlers of `agent:bootstrap` read and change it. */
export interface BootstrapFile {
  /** The name of the file, such as `AGENTS.md`. */
  name: string;
  path: string;
  content: string;
  /** True if the file does not exist. `content` is then empty, and the prompt omits the file unless a hook fills it. */
  missing: boolean;
  /** True if outsiders contributed to the content. The prompt then marks it as data. */
  fromOutside?: boolean;
}

/** The context of `command:new`, `command:reset` and `command:stop`. */
export interface CommandContext {
  sessionKey: string;
  /** `new`, `reset`, `stop`. */
  command: string;
  /** The text after the command. */
  args: string;
  workspace: string;
  /** `cli`, `chat`, … */
  source: string;
  /** The previous content of the session; only for `new` and `reset`. */
  previousSession?: { messages: { role: string; content: string }[] };
}

/** The service `agent`, which starts, follows and stops turns and wakes. */
export interface AgentService {
  /**
   * Returns the delivery in the form in which it may be stored: its secrets are references, or encrypted. Throws if
   * results of this principal may not be delivered to the target.
   */
  sealDelivery(delivery: TurnRequest["delivery"], principal: Principal): TurnRequest["delivery"];
  /**
   * Throws 404 `model_not_found` or 400 if no turn could use this model or channel: unknown names, and `agent`, which
   * cannot be its own model. Call this before you accept a turn from outside, a job or a poll; `startTurn` calls it itself.
   * `principal` is the principal of the turn. Default: that of the current call.
   */
  checkModel(turn: Pick<TurnRequest, "model" | "channel" | "principal">): Promise<void>;
  /**
   * Creates the durable work item of a turn, without writing anything. Put it into one `store.enqueue`, `tick` or
   * `commitSchedule` together with your own rows. The turn runs as soon as that is committed. You may still change the
   * item (`runAt`, `maxAttempts`, `settle`), but not its `id`, `lane` and `kind`.
   */
  turnItem(request: TurnRequest): { turnId: string; sessionId: string; item: NewItem };
  /**
   * Call this before you write files for a principal. Throws `storage_full` (507) if its transcripts and files together
   * would exceed the limit.
   */
  admitFiles(principal: Principal, bytes: number): Promise<void>;
  /** Creates the durable work item of a wake, like `turnItem`. */
  wakeItem(request: WakeRequest): { eventId: string; item: NewItem };

  /** Creates and enqueues a turn. Resolves when it is durable, or with `wait` when the turn has ended. */
  startTurn(
    request: TurnRequest,
    options?: { wait?: boolean; signal?: AbortSignal },
  ): Promise<TurnStatus>;
  wake(request: WakeRequest): Promise<{ eventId: string }>;

  turn(turnId: string): Promise<TurnStatus | undefined>;
  event(eventId: string): Promise<WakeStatus | undefined>;
  /**
   * Resolves when the turn has ended, here or in another gateway. Throws `not_found`, or `timeout` (504). With
   * `refusedAtOnce` it also throws `hook_unavailable` (503), while the turn itself is still retried.
   */
  waitFor(
    turnId: string,
    options?: { signal?: AbortSignal; timeoutMs?: number; refusedAtOnce?: boolean },
  ): Promise<TurnStatus>;
  /** Returns the response for a caller that waited. Throws the error of a failed turn, with its ids in `details`. */
  endOf(status: TurnStatus): TurnEnd;
  /** Stops a queued or running turn. Returns false if it had already ended. */
  cancel(turnId: string): Promise<boolean>;
  /**
   * Posts a text to the main session and the event feed: as the agent's own words if the principal is the owner, else as
   * an event from outside.
   */
  announce(
    text: string,
    from: { source: string; turnId?: string; sessionId?: string; principal?: Principal },
  ): Promise<void>;
  /** Runs the heartbeat now, even outside its active hours. Returns its turn; undefined if there is nothing to do. */
  heartbeat(reason: string): Promise<{ turnId: string } | undefined>;
  /** The id of the agent's main session: `main`. */
  readonly mainSession: string;
  /** Returns the rights of a principal according to the current configuration. */
  access(principal: Principal): Promise<Access>;
  /** Wraps text from outside for a prompt: marks it as data, in a fence with a random id. */
  fence(label: string, text: string): string;
}

/** A request for a turn: the task, the session, the agent and the model. */
export interface TurnRequest {
  /** The task, as trusted text (such as the text of a template). */
  message: string;
  /** Data from outside. Each entry is fenced and follows the message. */
  untrusted?: readonly { label: string; text: string }[];
  /**
   * The text of `untrusted`, if `message` only says what to do with it. `message:received` shows and changes this text.
   */
  content?: string;
  /** Default: a separate session, `<source>:<turn id>`. Invisible characters of a name are removed. */
  session?: string;
  /**
   * True if no caller chose the session's name. After `store.retention.sessionsDays` without use, such a session is deleted
   * with its transcript. Default: true if `session` is left out.
   */
  temporary?: boolean;
  /** `webhook`, `cron`, `poll`, `cli`, …: appears in events and in the session's `meta`. */
  source: string;
  /**
   * The principal on whose behalf the turn runs. It decides the tools, files and sessions. Default: the principal of the
   * call that the plugin serves, or `outside`, which has no tools, if there is no such call.
   */
  principal?: Principal;
  model?: string;
  /** The turn uses only this channel. */
  channel?: string;
  /** An agent of `agents.list`. Default: `main`. */
  agent?: string;
  /** Arbitrary data. The model sees it as fenced data, and the events of the turn contain it. */
  context?: Record<string, unknown>;
  /**
   * `announce`: the response is also posted to the main session and the event feed. A target: the end of the turn is
   * sent to it.
   */
  delivery?: "announce" | "none" | DeliveryTarget | StoredTarget;
  /** Default: `agents.defaults.timeoutMs`. */
  timeoutMs?: number;
  /** An id of your own makes the request idempotent: `turn_…`, only `[A-Za-z0-9_-]`. */
  turnId?: string;
  /**
   * True if `message:received` was emitted and its effects were applied. Otherwise the turn emits it when it begins.
   */
  received?: boolean;
}

/** An event for the next heartbeat of the main session, or with `mode: "now"` for a heartbeat that it starts. */
export interface WakeRequest {
  text: string;
  metadata?: Record<string, unknown>;
  /** Default: `next-heartbeat`. */
  mode?: "next-heartbeat" | "now";
  source?: string;
  /** The principal that caused the event, as in `TurnRequest`. */
  principal?: Principal;
  /** An id of your own makes the request idempotent: `evt_…`. */
  eventId?: string;
}

/** The state of a turn. JSON-ready: times are ISO 8601. */
export interface TurnStatus {
  turnId: string;
  sessionId: string;
  /** `waiting`: the turn waits for the owner's approval of tool calls (`waitingCalls`). */
  state: "queued" | "running" | "waiting" | "done" | "dead" | "cancelled";
  source: string;
  principal: Principal;
  attempts: number;
  createdAt: string;
  startedAt?: string;
  finishedAt?: string;
  /** The time of the next attempt, between two attempts. */
  retryAt?: string;
  /** The text of the final response of a turn that is done. */
  result?: string;
  /** Model, steps and usage of a running turn are those so far. */
  model?: string;
  steps?: number;
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
  /** The error of the last failed attempt. `status` is its HTTP status. */
  error?: { code: string; message: string; status?: number };
  /** The tool calls that the owner has to allow or refuse before the turn continues. */
  waitingCalls?: WaitingCall[];
}

/** A tool call that waits for the owner's approval. */
export interface WaitingCall {
  callId: string;
  /** The position among the calls of its step. */
  index: number;
  tool: string;
  /** The arguments as the model wrote them. */
  arguments: string;
  askedAt: string;
  /** The time at which the call is refused, in ISO 8601. */
  until: string;
  /** The owner's decision, if other calls of the step still wait. */
  decision?: "confirmed" | "denied";
}

/** One request to the model, and the tool calls in its response. */
export interface TracedStep {
  model: string;
  /** The id of the request to the model. `GET /requests` lists it once it has ended. */
  requestId: string;
  /** The time at which the request began. Turns of earlier versions have none. */
  startedAt?: string;
  /** The response is not complete. `ms` is then the time so far. */
  isRunning?: true;
  ms: number;
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
  /** The cost in US dollars; absent if the price is not known. */
  cost?: number;
  error?: string;
  calls: TracedCall[];
  /** The number of earlier calls of the step that are left out, because traces have a limited size. */
  omittedCalls?: number;
}

export interface TracedCall {
  tool: string;
  /** Shortened if long, like `outcome`. */
  arguments: string;
  startedAt?: string;
  /** The call has not ended. It has no `outcome` and no `ok`, and `ms` is the time so far. */
  isRunning?: true;
  outcome?: string;
  ok?: boolean;
  ms: number;
  /** Set if the call had to wait for the owner. `interrupted`: it was allowed, but the gateway stopped while it ran. */
  decision?: "confirmed" | "denied" | "expired" | "interrupted";
}

/**
 * An attempt at a turn that failed, or that ended with its gateway: code `shutdown` after a stop, `interrupted` after a
 * kill.
 */
export interface FailedAttempt {
  /** The number of the attempt, from 1. */
  attempt: number;
  error: { code: string; message: string };
  /** The newest steps of the attempt. */
  trace: TracedStep[];
  /** The number of earlier steps that are left out, because traces have a limited size. */
  omittedSteps: number;
}

/** The state of a turn with its steps. JSON-ready. */
export interface TurnReport extends TurnStatus {
  /** The steps of the latest attempt. While the turn runs, the last step or call may have `isRunning`. */
  trace: TracedStep[];
  /** The number of earlier steps of a running turn that are left out, because its trace has a limited size. */
  omittedSteps?: number;
  /** The ten newest attempts before the latest one, oldest first. */
  failedAttempts: FailedAttempt[];
  /**
   * The cost of all steps of the latest attempt, including the omitted ones, in US dollars; absent if no price is
   * known.
   */
  cost?: number;
}

/** The response for a caller that waits for a turn. */
export interface TurnEnd extends TurnStatus {
  status: 200;
  message: string;
}

/** The state of a wake. JSON-ready: times are ISO 8601. */
export interface WakeStatus {
  eventId: string;
  /** `running`: a heartbeat turn has it in its prompt. `done`: that turn has finished. */
  state: "queued" | "running" | "done" | "dead" | "cancelled";
  attempts: number;
  createdAt: string;
  startedAt?: string;
  finishedAt?: string;
  turnId?: string;
  /** The response of the heartbeat's turn. */
  result?: string;
  error?: { code: string; message: string };
}
