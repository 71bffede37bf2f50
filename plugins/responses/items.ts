/** Items of a conversation as messages in OpenAI's chat form. */
import {
  type ChatMessage,
  type ContentPart,
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  onlyText,
  openExtras,
  optionalString,
  refused,
  resultText,
  type Said as SaidOf,
  saidMessage,
  stringAt,
  type ToolCallPart,
} from "portico/provider";
import { openSummary } from "./compaction/summary.ts";
import type { Reading } from "./reading.ts";
import { CALL_FORMS, isHostedSearch, toolOfItem } from "./tools/call-forms.ts";
import { clientKind } from "./tools/client-tools.ts";
import type { ToolTable } from "./tools/tool-table.ts";

type Said = SaidOf<ContentPart, ToolCallPart>;

export interface ItemContext {
  /** Where an item stands in the request, for errors. */
  pathOf(index: number): string;
  tools: ToolTable;
  reading: Reading;
}

export function readItems(items: readonly JsonObject[], context: ItemContext): ChatMessage[] {
  const reader = new ItemReader(context);
  for (const [i, item] of items.entries()) reader.add(item, context.pathOf(i));
  return reader.end();
}

/** Items that only record what OpenAI did, or how its models are set. */
const RECORDS = new Set<unknown>([
  ...["web_search_call", "file_search_call", "image_generation_call", "code_interpreter_call"],
  ...["computer_call", "computer_call_output", "configuration_update", "ghost_snapshot"],
  ...["mcp_list_tools", "mcp_call", "mcp_approval_request", "mcp_approval_response"],
]);

class ItemReader {
  readonly #context: ItemContext;
  readonly #messages: ChatMessage[] = [];
  #said: Said | undefined;
  /** What results of tools show: it follows them in a message of the user, since theirs hold text only. */
  #shown: ContentPart[] = [];

  constructor(context: ItemContext) {
    this.#context = context;
  }

  add(item: JsonObject, path: string): void {
    const { tools, reading } = this.#context;
    if (RECORDS.has(item.type) || isHostedSearch(item)) {
      reading.drop(path);
      return;
    }
    const tool = toolOfItem(item, path);
    if (tool !== undefined) {
      const args = CALL_FORMS[tool.kind].argumentsOf(item, path);
      this.#speak().calls.push({
        id: stringAt(item.call_id ?? item.id, `${path}.call_id`),
        type: "function",
        function: { name: tools.nameOf(tool), arguments: args },
      });
      return;
    }
    this.#addOther(item, path);
  }

  end(): ChatMessage[] {
    this.#endSaid();
    this.#endResults();
    return this.#messages;
  }

  #addOther(item: JsonObject, path: string): void {
    const { reading } = this.#context;
    switch (item.type ?? (item.role === undefined ? undefined : "message")) {
      case "message":
        if (item.role === "assistant") addAssistant(this.#speak(), item, path, reading);
        else this.#tell(readMessage(item, path, reading));
        return;
      case "agent_message":
        this.#tell(this.#readAgentMessage(item, path));
        return;
      case "reasoning":
        this.#addReasoning(item, path);
        return;
      case "compaction":
      case "compaction_summary":
      case "context_compaction":
        this.#addSummary(item, path);
        return;
      case "compaction_trigger":
        reading.compacts = true;
        return;
      case "additional_tools":
        // They stand among the tools of the request.
        return;
      case "function_call_output":
      case "custom_tool_call_output":
      case "local_shell_call_output":
      case "shell_call_output":
      case "apply_patch_call_output":
      case "tool_search_output":
        this.#endSaid();
        this.#messages.push(this.#readResult(item, path));
        return;
      default:
        reading.refuse(
          `${path}.type`,
          `Items of type ${JSON.stringify(item.type ?? null)} are not supported here`,
        );
    }
  }

  #speak(): Said {
    this.#endResults();
    this.#said ??= { content: [], calls: [], thoughts: [], extras: [] };
    return this.#said;
  }

  #tell(message: ChatMessage): void {
    this.#endSaid();
    this.#endResults();
    this.#messages.push(message);
  }

  #endSaid(): void {
    const said = this.#said;
    this.#said = undefined;
    if (said !== undefined && !onlyThought(said)) this.#messages.push(saidMessage(said));
  }

  #endResults(): void {
    if (this.#shown.length > 0) this.#messages.push({ role: "user", content: this.#shown });
    this.#shown = [];
  }

  /** What one agent of the client tells another. */
  #readAgentMessage(item: JsonObject, path: string): ChatMessage {
    const content = listAt(item.content, `${path}.content`).filter((part, i) => {
      const isSealed = isObject(part) && part["type"] === "encrypted_content";
      if (isSealed) this.#context.reading.drop(`${path}.content[${i}]`);
      return !isSealed;
    });
    const text = [{ type: "input_text", text: `From ${String(item.author ?? "another agent")}:` }];
    const message = { role: "user", content: [...text, ...content] };
    return readMessage(message, path, this.#context.reading);
  }

  #addReasoning(item: JsonObject, path: string): void {
    const said = this.#speak();
    for (const list of [item.summary, item.content]) {
      for (const part of Array.isArray(list) ? (list as JsonObject[]) : []) {
        if (typeof part?.text === "string") said.thoughts.push(part.text);
      }
    }
    const sealed = item.encrypted_content;
    if (sealed == null) return;
    const extras = openExtras(sealed);
    if (extras !== undefined) said.extras.push(extras);
    else this.#context.reading.drop(`${path}.encrypted_content`);
  }

  /** A summary that another gateway or provider sealed cannot be read here. */
  #addSummary(item: JsonObject, path: string): void {
    const summary = openSummary(item.encrypted_content);
    if (summary === undefined) this.#context.reading.drop(path);
    else this.#tell({ role: "user", content: summary });
  }

  #readResult(item: JsonObject, path: string): ChatMessage {
    const id = stringAt(item.call_id ?? item.id, `${path}.call_id`);
    const content = this.#resultOf(item, id, path);
    return { role: "tool", tool_call_id: id, content };
  }

  #resultOf(item: JsonObject, id: string, path: string): string {
    switch (item.type) {
      case "tool_search_output":
        return this.#namesIn(item.tools);
      case "shell_call_output":
        return shellOutput(listAt(item.output, `${path}.output`));
      case "apply_patch_call_output": {
        const output = optionalString(item.output, `${path}.output`);
        return [item.status, output].filter(Boolean).join(": ");
      }
      default: {
        const output = readParts(item.output, `${path}.output`, this.#context.reading);
        return typeof output === "string" ? output : resultText(id, output, this.#shown);
      }
    }
  }

  /** The tools that a search has brought, by the names under which the model can call them. */
  #namesIn(list: unknown): string {
    const { tools } = this.#context;
    const nameOf = (tool: JsonObject, namespace?: string) =>
      tools.nameOf({ kind: clientKind(tool) ?? "function", name: String(tool.name), namespace });
    const names = (Array.isArray(list) ? list : []).filter(isObject).flatMap((tool) => {
      if (tool["type"] !== "namespace") return [nameOf(tool)];
      const inside = Array.isArray(tool["tools"]) ? tool["tools"].filter(isObject) : [];
      return inside.map((one) => nameOf(one, String(tool["name"])));
    });
    return names.length === 0
      ? "No tools match."
      : `These tools can be called now: ${names.join(", ")}`;
  }
}

function shellOutput(results: readonly unknown[]): string {
  return results
    .filter(isObject)
    .map(({ stdout, stderr, outcome }) => {
      const { type, exit_code: code } = (outcome ?? {}) as JsonObject;
      const end = type === "timeout" ? "timed out" : `exit code ${String(code ?? 0)}`;
      return [stdout, stderr, `(${end})`].filter(Boolean).join("\n");
    })
    .join("\n\n");
}

/** Reasoning on its own says nothing to a model. */
function onlyThought({ content, calls, refusal }: Said): boolean {
  return content.length === 0 && calls.length === 0 && refusal === undefined;
}

const ROLES = ["user", "system", "developer"];

function readMessage(item: JsonObject, path: string, reading: Reading): ChatMessage {
  const role = stringAt(item.role, `${path}.role`);
  if (!ROLES.includes(role)) {
    throw refused(`${path}.role`, `\`${path}.role\` must be user, assistant, system or developer`);
  }
  const parts = readParts(item.content, `${path}.content`, reading);
  if (typeof parts === "string") return { role, content: parts };
  const texts = role !== "user" || parts.length === 1 ? onlyText(parts) : undefined;
  return { role, content: texts ?? parts };
}

function addAssistant(said: Said, item: JsonObject, path: string, reading: Reading): void {
  const parts = readParts(item.content, `${path}.content`, reading);
  if (typeof parts === "string") {
    said.content.push({ type: "text", text: parts });
    return;
  }
  for (const part of parts) {
    if (part.type !== "refusal") said.content.push(part);
    else said.refusal = [said.refusal, String(part["refusal"])].filter(Boolean).join("\n");
  }
}

function readParts(content: unknown, path: string, reading: Reading): string | ContentPart[] {
  if (typeof content === "string") return content;
  return listAt(content, path).flatMap((value, i) => {
    const at = `${path}[${i}]`;
    return readPart(objectAt(value, at), at, reading) ?? [];
  });
}

/** Undefined for content that only a channel of this format may understand. */
function readPart(part: JsonObject, path: string, reading: Reading): ContentPart | undefined {
  switch (part.type) {
    case "input_text":
    case "output_text":
    case "text":
      return { type: "text", text: stringAt(part.text, `${path}.text`) };
    case "refusal":
      return { type: "refusal", refusal: stringAt(part.refusal, `${path}.refusal`) };
    case "input_image": {
      if (part.image_url == null) {
        reading.refuse(`${path}.image_url`, "Send the image itself in image_url");
        return undefined;
      }
      const detail = optionalString(part.detail, `${path}.detail`);
      const url = stringAt(part.image_url, `${path}.image_url`);
      return { type: "image_url", image_url: { url, detail } };
    }
    case "input_file": {
      if (part.file_data == null) {
        reading.refuse(`${path}.file_data`, "Send the file itself in file_data as a data URL");
        return undefined;
      }
      const filename = optionalString(part.filename, `${path}.filename`) ?? "file.pdf";
      const data = stringAt(part.file_data, `${path}.file_data`);
      return { type: "file", file: { filename, file_data: data } };
    }
    case "input_audio": {
      const audio = objectAt(part.input_audio, `${path}.input_audio`);
      return { type: "input_audio", input_audio: audio };
    }
    default: {
      const type = JSON.stringify(part.type ?? null);
      reading.refuse(`${path}.type`, `Content of type ${type} is not supported here`);
      return undefined;
    }
  }
}
