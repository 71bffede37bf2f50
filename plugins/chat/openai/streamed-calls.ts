import { mendArguments, newCallId } from "./completion.ts";
import { isObject } from "./fields.ts";

/** The tool calls of one choice of a stream: each begins once, at the next place, and its id and name are told once. */
export class StreamedCalls {
  /** Our index of each call, by the upstream's id and by its index. */
  #byId = new Map<string, number>();
  #byIndex = new Map<number, number>();
  #names: string[] = [];
  /** Calls that have no arguments so far. */
  #bare = new Set<number>();

  get any(): boolean {
    return this.#names.length > 0;
  }

  /** The calls without arguments, each told once. */
  takeBare(): number[] {
    const bare = [...this.#bare];
    this.#bare.clear();
    return bare;
  }

  /** Mends what one chunk says of calls, in place; true where that changed it. */
  mend(calls: unknown[]): boolean {
    let changed = false;
    for (const call of calls) {
      if (!isObject(call)) continue;
      const id = typeof call["id"] === "string" && call["id"] !== "" ? call["id"] : undefined;
      const given = typeof call["index"] === "number" ? call["index"] : undefined;
      const fn = isObject(call["function"]) ? call["function"] : undefined;
      const name = typeof fn?.["name"] === "string" ? fn["name"] : "";
      const known = this.#known(id, given, name);
      // Some count content blocks, and Gemini's OpenAI layer gives every parallel call the index 0; others give none.
      const index = known ?? this.#names.length;
      if (known === undefined) {
        this.#names.push(name);
        if (id === undefined) {
          call["id"] = newCallId();
          changed = true;
        } else this.#byId.set(id, index);
        if (typeof call["type"] !== "string") {
          call["type"] = "function";
          changed = true;
        }
      } else {
        // Clients put together what comes twice.
        if (id !== undefined) {
          delete call["id"];
          changed = true;
        }
        if (name !== "" && name === this.#names[index]) {
          delete fn!["name"];
          changed = true;
        }
      }
      if (given !== undefined) this.#byIndex.set(given, index);
      if (given !== index) {
        call["index"] = index;
        changed = true;
      }
      if (mendArguments(fn, false)) changed = true;
      if (typeof fn?.["arguments"] === "string" && fn["arguments"].trim() !== "")
        this.#bare.delete(index);
      else if (known === undefined) this.#bare.add(index);
    }
    return changed;
  }

  /** The call that a fragment goes on with; undefined where it begins one. A new id without a name begins none. */
  #known(id: string | undefined, given: number | undefined, name: string): number | undefined {
    const byId = id === undefined ? undefined : this.#byId.get(id);
    if (byId !== undefined || (name !== "" && (id !== undefined || given === undefined)))
      return byId;
    if (given !== undefined) return this.#byIndex.get(given);
    return this.#names.length > 0 ? this.#names.length - 1 : undefined;
  }
}
