/** Translates items of a conversation into messages of OpenAI's chat form. */
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
  type Said,
  saidMessage,
  stringAt,
  type ToolCallPart,
  withSource,
} from "portico/provider";
import { openSummary } from "./compaction/summary.ts";
import type { Reading } from "./reading.ts";
import { CALL_FORMS, isHostedSearch, toolOfItem, type ToolId } from "./tools/call-forms.ts";
import { clientKind } from "./tools/client-tools.ts";
import type { ToolTable } from "./tools/tool-table.ts";

interface AssistantTurn extends Said<ContentPart, ToolCallPart> {
  /** The path of its first item. */
  path: string;
}

export interface ItemContext {
  /** Returns the path of an item in the request, for errors. */
  pathOf(index: number): string;
  tools: ToolTable;
  reading: Reading;
}

export function readItems(items: readonly JsonObject[], context: ItemContext): ChatMessage[] {
  const reader = new ItemReader(context);
  for (const [i, item] of items.entries()) reader.add(item, context.pathOf(i));
  return reader.end();
}

/** Items that only record what OpenAI's own tools did, or a change of settings. */
const RECORDS = new Set<unknown>([
  "web_search_call",
  "file_search_call",
  "image_generation_call",
  "code_interpreter_call",
  "computer_call",
  "computer_call_output",
  "configuration_update",
  "ghost_snapshot",
  "mcp_list_tools",
  "mcp_call",
  "mcp_approval_request",
  "mcp_approval_response",
]);

/** Results of tools that the client runs. */
const RESULTS = new Set<unknown>([
  "function_call_output",
  "custom_tool_call_output",
  "local_shell_call_output",
  "shell_call_output",
  "apply_patch_call_output",
  "tool_search_output",
]);

class ItemReader {
  readonly #context: ItemContext;
  readonly #messages: ChatMessage[] = [];
  /** The assistant's open turn, to which further items may add. */
  #turn: AssistantTurn | undefined;
  /** Images and files of tool results. A user message after the results holds them, since a result is text only. */
  #filesOfResults: ContentPart[] = [];

  constructor(context: ItemContext) {
    this.#context = context;
  }

  add(item: JsonObject, path: string): void {
    const { reading } = this.#context;
    if (RECORDS.has(item.type) || isHostedSearch(item)) {
      reading.drop(path);
      return;
    }
    const tool = toolOfItem(item, path);
    if (tool !== undefined) this.#addCall(tool, item, path);
    else if (RESULTS.has(item.type)) this.#addResult(item, path);
    else this.#addOther(item, path);
  }

  end(): ChatMessage[] {
    this.#endTurn();
    this.#endResults();
    return this.#messages;
  }

  #addCall(tool: ToolId, item: JsonObject, path: string): void {
    const args = CALL_FORMS[tool.kind].argumentsOf(item, path);
    const call = {
      id: stringAt(item.call_id ?? item.id, `${path}.call_id`),
      type: "function",
      function: { name: this.#context.tools.nameOf(tool), arguments: args },
    };
    const renamed = { id: `${path}.call_id`, function: path };
    this.#assistantTurn(path).calls.push(withSource(call, path, renamed));
  }

  #addResult(item: JsonObject, path: string): void {
    this.#endTurn();
    this.#messages.push(this.#readResult(item, path));
  }

  #addOther(item: JsonObject, path: string): void {
    const { reading } = this.#context;
    switch (item.type ?? (item.role === undefined ? undefined : "message")) {
      case "message":
        this.#addMessage(item, path);
        return;
      case "agent_message":
        this.#addWhole(this.#readAgentMessage(item, path));
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
        // `chat-request.ts` reads them with the tools of the request.
        return;
      default:
        reading.refuse(
          `${path}.type`,
          `Items of type ${JSON.stringify(item.type ?? null)} are not supported here`,
        );
    }
  }

  #addMessage(item: JsonObject, path: string): void {
    const { reading } = this.#context;
    if (item.role === "assistant") addAssistant(this.#assistantTurn(path), item, path, reading);
    else this.#addWhole(readMessage(item, path, reading));
  }

  #assistantTurn(path: string): AssistantTurn {
    this.#endResults();
    this.#turn ??= { path, content: [], calls: [], thoughts: [], extras: [] };
    return this.#turn;
  }

  #addWhole(message: ChatMessage): void {
    this.#endTurn();
    this.#endResults();
    this.#messages.push(message);
  }

  #endTurn(): void {
    const turn = this.#turn;
    this.#turn = undefined;
    if (turn !== undefined && !isThoughtAlone(turn))
      this.#messages.push(withSource(saidMessage(turn), turn.path));
  }

  #endResults(): void {
    if (this.#filesOfResults.length > 0)
      this.#messages.push({ role: "user", content: this.#filesOfResults });
    this.#filesOfResults = [];
  }

  /** A message from one agent of the client to another. */
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
    const turn = this.#assistantTurn(path);
    turn.thoughts.push(...textsIn(item.summary), ...textsIn(item.content));
    const sealed = item.encrypted_content;
    if (sealed == null) return;
    const extras = openExtras(sealed);
    if (extras !== undefined) turn.extras.push(extras);
    else this.#context.reading.drop(`${path}.encrypted_content`);
  }

  /** A summary that another gateway or provider sealed cannot be read here. */
  #addSummary(item: JsonObject, path: string): void {
    const summary = openSummary(item.encrypted_content);
    if (summary === undefined) this.#context.reading.drop(path);
    else this.#addWhole(withSource({ role: "user", content: summary }, path));
  }

  #readResult(item: JsonObject, path: string): ChatMessage {
    const id = stringAt(item.call_id ?? item.id, `${path}.call_id`);
    const content = this.#resultOf(item, id, path);
    return withSource({ role: "tool", tool_call_id: id, content }, path, {
      tool_call_id: `${path}.call_id`,
      content: `${path}.output`,
    });
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
        return typeof output === "string" ? output : resultText(id, output, this.#filesOfResults);
      }
    }
  }

  /** Lists the tools that a search returned, by the names under which the model can call them. */
  #namesIn(list: unknown): string {
    const { tools } = this.#context;
    const nameOf = (tool: JsonObject, namespace?: string) =>
      tools.nameOf({ kind: clientKind(tool) ?? "function", name: String(tool.name), namespace });
    const names = (Array.isArray(list) ? list : []).filter(isObject).flatMap((tool) => {
      if (tool["type"] !== "namespace") return [nameOf(tool)];
      const inside = Array.isArray(tool["tools"]) ? tool["tools"].filter(isObject) : [];
      return inside.map((member) => nameOf(member, String(tool["name"])));
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

function textsIn(list: unknown): string[] {
  const parts = Array.isArray(list) ? (list as (JsonObject | null)[]) : [];
  return parts.flatMap((part) => (typeof part?.text === "string" ? [part.text] : []));
}

/** Models have no use for a message that holds reasoning and nothing else. */
function isThoughtAlone({ content, calls, refusal }: AssistantTurn): boolean {
  return content.length === 0 && calls.length === 0 && refusal === undefined;
}

const ROLES = ["user", "system", "developer"];

function readMessage(item: JsonObject, path: string, reading: Reading): ChatMessage {
  const role = stringAt(item.role, `${path}.role`);
  if (!ROLES.includes(role)) {
    throw refused(`${path}.role`, `\`${path}.role\` must be user, assistant, system or developer`);
  }
  const parts = readParts(item.content, `${path}.content`, reading);
  const isText = role !== "user" || parts.length === 1;
  const texts = typeof parts !== "string" && isText ? onlyText(parts) : undefined;
  return withSource({ role, content: texts ?? parts }, path);
}

function addAssistant(turn: AssistantTurn, item: JsonObject, path: string, reading: Reading): void {
  const parts = readParts(item.content, `${path}.content`, reading);
  if (typeof parts === "string") {
    turn.content.push({ type: "text", text: parts });
    return;
  }
  for (const part of parts) {
    if (part.type !== "refusal") turn.content.push(part);
    else turn.refusal = [turn.refusal, String(part["refusal"])].filter(Boolean).join("\n");
  }
}

function readParts(content: unknown, path: string, reading: Reading): string | ContentPart[] {
  if (typeof content === "string") return content;
  return listAt(content, path).flatMap((value, i) => {
    const at = `${path}[${i}]`;
    const part = readPart(objectAt(value, at), at, reading);
    return part === undefined ? [] : withSource(part, at, renamedInPart(at));
  });
}

/** Members of a part whose names differ from those of chat's form. */
function renamedInPart(path: string): Record<string, string> {
  return {
    "image_url.url": `${path}.image_url`,
    "image_url.detail": `${path}.detail`,
    file: path,
  };
}

/** Returns undefined, and notes a refusal, for content that only a channel of this format may understand. */
function readPart(part: JsonObject, path: string, reading: Reading): ContentPart | undefined {
  switch (part.type) {
    case "input_text":
    case "output_text":
    case "text":
      return { type: "text", text: stringAt(part.text, `${path}.text`) };
    case "refusal":
      return { type: "refusal", refusal: stringAt(part.refusal, `${path}.refusal`) };
    case "input_image":
      return readImage(part, path, reading);
    case "input_file":
      return readFile(part, path, reading);
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

function readImage(part: JsonObject, path: string, reading: Reading): ContentPart | undefined {
  if (part.image_url == null) {
    reading.refuse(`${path}.image_url`, "Send the image itself in `image_url`");
    return undefined;
  }
  const detail = optionalString(part.detail, `${path}.detail`);
  const url = stringAt(part.image_url, `${path}.image_url`);
  return { type: "image_url", image_url: { url, detail } };
}

function readFile(part: JsonObject, path: string, reading: Reading): ContentPart | undefined {
  if (part.file_data == null) {
    reading.refuse(`${path}.file_data`, "Send the file itself in `file_data`, as a data URL");
    return undefined;
  }
  const filename = optionalString(part.filename, `${path}.filename`) ?? "file.pdf";
  const data = stringAt(part.file_data, `${path}.file_data`);
  return { type: "file", file: { filename, file_data: data } };
}
