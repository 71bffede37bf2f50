/**
 * The one place that decides what a tool call is. Servers count calls in their own ways: ids that come twice, indexes that
 * are missing or the same for all, names that come late or in pieces, arguments that are objects or missing.
 */
import { mintCallId } from "../response/call-ids.ts";
import { ResponseTooLarge } from "../stream/response-too-large.ts";
import { isCompleteJson, missingClosers } from "../response/arguments.ts";

/** What one event says of a call. Empty strings count as absent. */
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

/** Characters of one call's arguments, which are kept until the call has ended. */
const MOST_ARGUMENTS = 16 * 1024 * 1024;

function argumentsTooLarge(): ResponseTooLarge {
  return new ResponseTooLarge(
    `The upstream sent a tool call whose arguments have more than ${MOST_ARGUMENTS} characters.`,
  );
}

type CallExtras = Pick<CallFragment, "custom" | "extra">;

/** A call as the tracker knows it. */
export interface TrackedCall {
  /** Counts the calls from 0, in the order in which they were announced. -1: not announced yet. */
  index: number;
  /** Counts the calls from 0, in the order in which they were first mentioned. */
  readonly order: number;
  readonly upstreamId: string;
  readonly id: string;
  name: string;
  args: string;
  readonly custom: boolean;
  extra: unknown;
}

/** Takes what the tracker has decided. */
export interface CallEvents {
  /** A call may begin here, but its name may still grow: the place is kept until `announce`, `skip` or the end. */
  reserve(call: TrackedCall): void;
  /**
   * The name of the call is complete: it begins, at its place where one was reserved. `withArguments`: all that is known of
   * its arguments follows at once.
   */
  announce(call: TrackedCall, withArguments: boolean): void;
  /** The place is given up: the call has no name yet, and something else comes. */
  skip(call: TrackedCall): void;
  /** A piece of the name came in another event than the first one. */
  renamed(call: TrackedCall): void;
  /** The arguments of this event wait for the name of their call. */
  held(): void;
  /** `isLate`: some of the text came in an earlier event. */
  args(call: TrackedCall, text: string, isLate: boolean): void;
}

export interface TrackerOptions {
  /** The id for clients; without one, the upstream's own, or a fresh one. */
  idOf?: (upstreamId: string | undefined) => string;
  /** The name for clients. */
  nameOf?: (name: string) => string;
  /** Arguments stay as they come: the events go on in the upstream's own format, where nothing needs completing. */
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
  /** The latest call, while its name may still grow. */
  #pending: TrackedCall | undefined;
  #announced = 0;

  constructor(events: CallEvents, options: TrackerOptions = {}) {
    this.#events = events;
    this.#idOf = options.idOf ?? ((id) => id ?? mintCallId());
    this.#nameOf = options.nameOf ?? ((name) => name);
    this.#isNative = options.isNative === true;
  }

  /** A call has begun. */
  get any(): boolean {
    return this.#announced > 0;
  }

  /** Calls that were mentioned, whether or not they have begun. */
  get count(): number {
    return this.#calls.length;
  }

  /** A fragment of a format that counts calls as OpenAI's does. */
  add(fragment: CallFragment): TrackedCall {
    const known = this.#find(fragment);
    if (known === undefined) return this.#begin(fragment);
    if (fragment.index !== undefined) this.#byIndex.set(fragment.index, known);
    if (this.#pending !== known) this.settle();
    if (fragment.name && known.index === -1) this.#growName(known, fragment.name);
    if (fragment.extra != null) known.extra = fragment.extra;
    this.append(known, fragment.args);
    return known;
  }

  /** A call whose name is complete, of a format that says clearly where each call begins. */
  start(id: string | undefined, name: string, more: CallExtras = {}): TrackedCall {
    this.settle();
    const call = this.#create({ id: id || undefined, name, args: "", ...more });
    this.#announce(call, false);
    return call;
  }

  /** A call that is there as a whole. */
  whole(id: string | undefined, name: string, args: string, more: CallExtras = {}): void {
    this.settle();
    const call = this.#create({ id: id || undefined, name, args, ...more });
    call.args = args;
    this.#announce(call, true);
    this.#events.args(call, args, false);
  }

  /** More arguments of a call. */
  append(call: TrackedCall, text: string): void {
    if (text === "") return;
    const isLate = call.args !== "";
    call.args += text;
    if (call.args.length > MOST_ARGUMENTS) throw argumentsTooLarge();
    if (call.index === -1) {
      if (call.name === "") {
        this.#events.held();
        return;
      }
      this.#announce(call, true);
      this.#events.args(call, call.args, isLate);
      return;
    }
    this.#events.args(call, text, false);
  }

  /** Something else than the latest call comes: its name does not grow any more. */
  settle(): void {
    const call = this.#pending;
    if (call === undefined) return;
    this.#pending = undefined;
    if (call.name === "") this.#events.skip(call);
    else this.#announce(call, false);
  }

  /** The choice is finished. `cut`: by a limit or a filter, so that arguments may be incomplete. */
  finish(cut: boolean): void {
    this.settle();
    for (const call of this.#calls) {
      if (call.index === -1) {
        // A place without a name and arguments was no call.
        if (call.name === "" && call.args === "") continue;
        this.#announce(call, call.args !== "");
        if (call.args !== "") this.#events.args(call, call.args, true);
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

  #begin(fragment: CallFragment): TrackedCall {
    this.settle();
    const call = this.#create(fragment);
    if (fragment.args !== "" && call.name !== "") {
      this.append(call, fragment.args);
      return call;
    }
    call.args = fragment.args;
    this.#pending = call;
    this.#events.reserve(call);
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
    const first = call.name === "" && call.args === "";
    // Some servers tell the whole name with each fragment.
    if (call.name === piece) return;
    call.name += piece;
    this.#events.renamed(call);
    if (!first && call.args !== "") {
      this.#announce(call, true);
      this.#events.args(call, call.args, true);
    }
  }

  #announce(call: TrackedCall, withArguments: boolean): void {
    if (call.index !== -1) return;
    if (this.#pending === call) this.#pending = undefined;
    call.index = this.#announced++;
    call.name = this.#nameOf(call.name);
    this.#events.announce(call, withArguments);
  }

  /** The call that a fragment goes on with; undefined where it begins one. */
  #find(fragment: CallFragment): TrackedCall | undefined {
    const { index, id, name } = fragment;
    const byId = id ? this.#byId.get(id) : undefined;
    const byIndex = index === undefined ? undefined : this.#byIndex.get(index);
    // A new index with a name begins a call, whatever its id.
    if (index !== undefined && byIndex === undefined && name) return undefined;
    const latest = this.#calls.at(-1);
    const same = byIndex ?? byId;
    if (same === undefined) {
      // A name or an index of its own begins a call; anything else goes on with the latest one.
      return name || index !== undefined ? undefined : latest;
    }
    // Gemini's OpenAI layer gives every parallel call the index 0.
    if (name && id && same.upstreamId !== "" && same.upstreamId !== id) return byId;
    return name && fragment.args !== "" && isCompleteJson(same.args) ? undefined : same;
  }
}
