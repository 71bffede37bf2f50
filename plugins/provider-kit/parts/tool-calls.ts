/**
 * The one place that decides what a tool call is. Servers count calls in their own ways: ids that come twice, indexes that
 * are missing or the same for all, names that come late or in pieces, arguments that are objects or missing.
 */
import { mintCallId } from "../response/call-ids.ts";
import { ResponseTooLarge } from "../stream/response-too-large.ts";
import { isCompleteJson, missingClosers } from "../response/arguments.ts";

/** The members of a call in one event. Empty strings count as absent. */
export interface CallFragment {
  /** The upstream's index; several calls may have the same, or none. */
  index?: number | undefined;
  id?: string | undefined;
  /** The name, or a piece of it. */
  name?: string | undefined;
  args: string;
  custom?: boolean | undefined;
  extra?: unknown;
}

/** The limit of one call's arguments in characters. The tracker keeps them until the call has ended. */
const MOST_ARGUMENTS = 16 * 1024 * 1024;

function argumentsTooLarge(): ResponseTooLarge {
  return new ResponseTooLarge(
    `The upstream sent a tool call whose arguments have more than ${MOST_ARGUMENTS} characters.`,
  );
}

type CallExtras = Pick<CallFragment, "custom" | "extra">;

/** The state of one call. */
export interface TrackedCall {
  /** The position among the announced calls, from 0; -1 until the call is announced. */
  index: number;
  /** The position among all calls, from 0, in the order in which the stream first mentioned them. */
  readonly order: number;
  readonly upstreamId: string;
  readonly id: string;
  name: string;
  args: string;
  readonly custom: boolean;
  extra: unknown;
}

/** The receiver of the tracker's decisions. */
export interface CallEvents {
  /** The event that is being read mentions a call for the first time, and the name of the call may still grow. */
  mention(call: TrackedCall): void;
  /** The name of the call is complete. `withArguments`: `args` follows at once with the arguments so far. */
  announce(call: TrackedCall, withArguments: boolean): void;
  /** The mentioned call is still without a name, and later events no longer wait for it. */
  skip(call: TrackedCall): void;
  /** A piece of the name came in another event than the first one. */
  renamed(call: TrackedCall): void;
  /** The arguments in the event that is being read wait for the name of their call. */
  delayed(): void;
  /** More arguments of an announced call. `isOfEvent`: all of the text is in the event that is being read. */
  args(call: TrackedCall, text: string, isOfEvent: boolean): void;
}

export interface TrackerOptions {
  /** Returns the id for clients. By default it is the upstream's, or a fresh one if the upstream sends none. */
  idOf?: (upstreamId: string | undefined) => string;
  /** Returns the name for clients. */
  nameOf?: (name: string) => string;
  /** The tracker completes no arguments: the events are passed on in the upstream's own format. */
  isNative?: boolean;
}

/** The calls of one choice of a stream. */
export class ToolCallTracker {
  readonly #events: CallEvents;
  readonly #idOf: (upstreamId: string | undefined) => string;
  readonly #nameOf: (name: string) => string;
  readonly #isNative: boolean;
  readonly #calls: TrackedCall[] = [];
  readonly #byIndex = new Map<number, TrackedCall>();
  readonly #byId = new Map<string, TrackedCall>();
  /**
   * Calls that are not announced yet, in the order in which they were mentioned: the name of the first one may still grow,
   * and calls are announced in their order. Several calls may send the pieces of their names in turn.
   */
  #pending: TrackedCall[] = [];
  #announced = 0;

  constructor(events: CallEvents, options: TrackerOptions = {}) {
    this.#events = events;
    this.#idOf = options.idOf ?? ((id) => id ?? mintCallId());
    this.#nameOf = options.nameOf ?? ((name) => name);
    this.#isNative = options.isNative === true;
  }

  /** True once a call was announced. */
  get any(): boolean {
    return this.#announced > 0;
  }

  /** The number of calls that the stream has mentioned, announced or not. */
  get count(): number {
    return this.#calls.length;
  }

  /** Adds a fragment of a format that identifies calls as OpenAI's does, by index and id. */
  add(fragment: CallFragment): TrackedCall {
    const known = this.#find(fragment);
    if (known === undefined) return this.#begin(fragment);
    if (fragment.index !== undefined) this.#byIndex.set(fragment.index, known);
    if (fragment.name && known.index === -1) this.#growName(known, fragment.name);
    if (fragment.extra != null) known.extra = fragment.extra;
    this.append(known, fragment.args);
    return known;
  }

  /** Begins a call whose name is complete, in a format that marks the beginning of each call. */
  start(id: string | undefined, name: string, more: CallExtras = {}): TrackedCall {
    this.settle();
    const call = this.#create({ id: id || undefined, name, args: "", ...more });
    this.#announce(call, false);
    return call;
  }

  /** Adds a call that one event contains as a whole. */
  whole(id: string | undefined, name: string, args: string, more: CallExtras = {}): void {
    this.settle();
    const call = this.#create({ id: id || undefined, name, args, ...more });
    call.args = args;
    this.#announce(call, true);
    this.#events.args(call, args, true);
  }

  /** Adds arguments to a call. */
  append(call: TrackedCall, text: string): void {
    const isOfEvent = call.index !== -1 || call.args === "";
    if (text !== "") this.#append(call, text, isOfEvent);
  }

  /**
   * Ends a call whose end the upstream has marked: a call without arguments gets `{}`. Incomplete arguments stay as they are
   * until `finish`, which knows whether a limit has cut them.
   */
  end(call: TrackedCall): void {
    if (call.custom || this.#isNative || call.name === "" || call.args.trim() !== "") return;
    this.#append(call, "{}", false);
  }

  /** Announces the calls that wait: their names count as complete. */
  settle(): void {
    const pending = this.#pending;
    if (pending.length === 0) return;
    this.#pending = [];
    for (const call of pending) {
      if (call.name === "") this.#events.skip(call);
      else this.#announceWithArguments(call, false);
    }
  }

  /** Ends the choice. `cut`: a limit or a filter has ended it, so arguments may be incomplete. */
  finish(cut: boolean): void {
    this.settle();
    for (const call of this.#calls) {
      if (call.index === -1) {
        // A mention that never received a name or arguments was no call.
        if (call.name === "" && call.args === "") continue;
        this.#announceWithArguments(call, false);
      }
      if (!call.custom && !this.#isNative) this.#completeArguments(call, cut);
    }
  }

  #completeArguments(call: TrackedCall, cut: boolean): void {
    const isEmpty = call.args.trim() === "";
    if (cut && !isEmpty) return;
    const missing = isEmpty ? "{}" : missingClosers(call.args);
    if (missing === "") return;
    call.args += missing;
    this.#events.args(call, missing, false);
  }

  #append(call: TrackedCall, text: string, isOfEvent: boolean): void {
    call.args += text;
    if (call.args.length > MOST_ARGUMENTS) throw argumentsTooLarge();
    if (call.index !== -1) this.#events.args(call, text, isOfEvent);
    else if (this.#mayAnnounce(call)) this.#announceWithNext(call, isOfEvent);
    else this.#events.delayed();
  }

  #begin(fragment: CallFragment): TrackedCall {
    // Gemini's OpenAI layer gives every parallel call the index 0, so the call that had this index is complete.
    const replaced = fragment.index === undefined ? undefined : this.#byIndex.get(fragment.index);
    if (replaced !== undefined) this.end(replaced);
    const call = this.#create(fragment);
    const isReady = fragment.args !== "" && call.name !== "";
    if (isReady && this.#pending.length === 0) {
      this.append(call, fragment.args);
      return call;
    }
    call.args = fragment.args;
    this.#events.mention(call);
    this.#pending.push(call);
    if (isReady) this.#events.delayed();
    return call;
  }

  #create({ id, index, name = "", custom, extra }: CallFragment): TrackedCall {
    const call: TrackedCall = {
      index: -1,
      order: this.#calls.length,
      upstreamId: id ?? "",
      id: this.#idOf(id || undefined),
      name,
      args: "",
      custom: custom === true,
      extra,
    };
    this.#calls.push(call);
    if (id) this.#byId.set(id, call);
    this.#byIndex.set(index ?? this.#calls.length - 1, call);
    return call;
  }

  #growName(call: TrackedCall, piece: string): void {
    // Some servers repeat the whole name in each fragment.
    if (call.name === piece) return;
    call.name += piece;
    this.#events.renamed(call);
    if (call.args !== "" && this.#mayAnnounce(call)) this.#announceWithNext(call, false);
  }

  /** True if the call has a name and no earlier call waits for the rest of its own. */
  #mayAnnounce(call: TrackedCall): boolean {
    const [first] = this.#pending;
    return call.name !== "" && (first === undefined || first.order >= call.order);
  }

  /** Announces a call whose arguments have begun, and then the calls behind it that waited only for this one. */
  #announceWithNext(call: TrackedCall, isOfEvent: boolean): void {
    if (this.#pending[0] === call) this.#pending.shift();
    this.#announceWithArguments(call, isOfEvent);
    for (;;) {
      const [next] = this.#pending;
      if (next === undefined || next.name === "" || next.args === "") return;
      this.#pending.shift();
      this.#announceWithArguments(next, false);
    }
  }

  #announceWithArguments(call: TrackedCall, isOfEvent: boolean): void {
    const hasArguments = call.args !== "";
    this.#announce(call, hasArguments);
    if (hasArguments) this.#events.args(call, call.args, isOfEvent);
  }

  #announce(call: TrackedCall, withArguments: boolean): void {
    call.index = this.#announced++;
    call.name = this.#nameOf(call.name);
    this.#events.announce(call, withArguments);
  }

  /** Returns the call that a fragment continues, or undefined if the fragment begins a call. */
  #find(fragment: CallFragment): TrackedCall | undefined {
    const { index, id, name } = fragment;
    const byId = id ? this.#byId.get(id) : undefined;
    const byIndex = index === undefined ? undefined : this.#byIndex.get(index);
    // A new index with a name begins a call, whatever its id.
    if (index !== undefined && byIndex === undefined && name) return undefined;
    const latest = this.#calls.at(-1);
    const same = byIndex ?? byId;
    if (same === undefined) {
      // A name or a new index begins a call; anything else continues the latest one.
      return name || index !== undefined ? undefined : latest;
    }
    // Another id with a name begins a call, whatever its index.
    if (name && id && same.upstreamId !== "" && same.upstreamId !== id) return byId;
    return name && fragment.args !== "" && isCompleteJson(same.args) ? undefined : same;
  }
}
