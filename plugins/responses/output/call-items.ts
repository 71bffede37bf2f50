/** Tool calls, each as an item of the type that belongs to its tool. */
import { isJson, type JsonObject, type StreamedCallPart } from "portico/provider";
import { CALL_FORMS, type CallForm, type ToolId } from "../tools/call-forms.ts";
import { type ItemList, membersOf, type OutputItem } from "./item-list.ts";

/** Returns the tool that a function's name stands for. */
export type ToolOf = (name: string) => ToolId;

class CallItem {
  readonly id: string;
  extra_content: unknown;
  readonly #list: ItemList;
  readonly #form: CallForm;
  readonly #entry: OutputItem;
  readonly #deltaPlace: string;
  #args = "";

  constructor(list: ItemList, { id, extra }: StreamedCallPart, tool: ToolId) {
    this.id = id;
    this.extra_content = extra;
    this.#list = list;
    this.#form = CALL_FORMS[tool.kind];
    const fields = { type: this.#form.itemType, status: "in_progress", call_id: id };
    this.#entry = list.begin(this.#form.idKind, { ...fields, ...this.#form.begin(tool) });
    this.#deltaPlace = membersOf(this.#place);
  }

  get isComplete(): boolean {
    return isJson(this.#args);
  }

  write(args: string): void {
    this.#args += args;
    if (this.#form !== CALL_FORMS.function) return;
    const type = "response.function_call_arguments.delta";
    this.#list.events.writeDelta(type, this.#deltaPlace, args);
  }

  /** Ends the item. `status` applies if the arguments are not complete JSON. */
  end(status: string): void {
    const { item } = this.#entry;
    if (this.#args === "") this.#args = "{}";
    item.status = this.isComplete ? "completed" : status;
    Object.assign(item, this.#form.end(this.#args));
    if (this.#form === CALL_FORMS.function) this.#endFunction();
    if (this.#form === CALL_FORMS.custom) this.#endCustom();
    this.#list.end(this.#entry);
  }

  get #place(): JsonObject {
    const { item, index } = this.#entry;
    return { item_id: item.id, output_index: index };
  }

  #endFunction(): void {
    const { name } = this.#entry.item;
    const fields = { ...this.#place, name, arguments: this.#args };
    this.#list.events.write("response.function_call_arguments.done", fields);
  }

  /** Writes the input at once: it is a member of a JSON object, so that it is known only at the end. */
  #endCustom(): void {
    const { input } = this.#entry.item;
    const { events } = this.#list;
    const place = this.#place;
    events.write("response.custom_tool_call_input.delta", { ...place, delta: input });
    events.write("response.custom_tool_call_input.done", { ...place, input });
  }
}

/** The calls of a response. Each is written to its end before the next one begins. */
export class CallItems {
  readonly #list: ItemList;
  readonly #toolOf: ToolOf;
  readonly #calls = new Map<number, CallItem>();
  #open: CallItem | undefined;

  constructor(list: ItemList, toolOf: ToolOf) {
    this.#list = list;
    this.#toolOf = toolOf;
  }

  get all(): CallItem[] {
    return [...this.#calls.values()];
  }

  begin(part: StreamedCallPart): void {
    this.end("completed");
    const call = new CallItem(this.#list, part, this.#toolOf(part.name));
    this.#calls.set(part.index, call);
    this.#open = call;
  }

  write(index: number, args: string): void {
    const call = this.#calls.get(index);
    if (call === undefined || args === "" || this.#open !== call) return;
    call.write(args);
  }

  get(index: number): CallItem | undefined {
    return this.#calls.get(index);
  }

  /** Ends the open call. */
  end(status: "completed" | "incomplete"): void {
    this.#open?.end(status);
    this.#open = undefined;
  }
}
