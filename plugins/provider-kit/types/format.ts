/** Chat completions in OpenAI's form. */

/** A chat completions request in OpenAI's form. Unknown fields are preserved. */
export interface ChatRequest {
  model: string;
  messages: ChatMessage[];
  stream?: boolean | null;
  tools?: ChatTool[] | null;
  [field: string]: unknown;
}

/** One message. `content` is a text, a list of parts, or null if the message has calls. */
export interface ChatMessage {
  role: string;
  content?: string | ContentPart[] | null;
  name?: string;
  tool_calls?: ToolCallPart[] | null;
  tool_call_id?: string;
  reasoning_content?: string | null;
  [field: string]: unknown;
}

/** One part of a message's content. */
export interface ContentPart {
  type: string;
  text?: string;
  image_url?: { url: string; detail?: string };
  [field: string]: unknown;
}

/** A tool that the model may call. */
export interface ChatTool {
  type: string;
  function?: {
    name: string;
    description?: string;
    parameters?: Record<string, unknown>;
    strict?: boolean | null;
  };
  [field: string]: unknown;
}

/** A call, or a fragment of one in a stream (then with `index`). */
export interface ToolCallPart {
  index?: number;
  id?: string;
  type?: string;
  function?: { name?: string; arguments?: string };
  /** Data that a provider requires with the call in later requests (signatures). */
  extra_content?: unknown;
}

/** Counts of tokens; `prompt_tokens` includes those read from a cache. */
export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details?: {
    cached_tokens?: number;
    cache_write_tokens?: number;
    [field: string]: number | undefined;
  };
  completion_tokens_details?: { reasoning_tokens?: number; [field: string]: number | undefined };
  /** True if the upstream sent no plausible counts, so that these are the gateway's own estimates. */
  estimated?: true;
}

/** A model's whole response. */
export interface ChatCompletion {
  id: string;
  object: "chat.completion";
  created: number;
  model: string;
  choices: {
    index: number;
    message: ChatMessage;
    finish_reason: string | null;
    logprobs?: unknown;
  }[];
  usage?: Usage;
  [field: string]: unknown;
}

/** One event of a streamed completion. */
export interface ChatChunk {
  id: string;
  object: "chat.completion.chunk";
  created: number;
  model: string;
  choices: {
    index: number;
    delta: Partial<ChatMessage>;
    finish_reason: string | null;
    logprobs?: unknown;
  }[];
  usage?: Usage | null;
  [field: string]: unknown;
}
