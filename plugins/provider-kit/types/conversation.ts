/** The form of a conversation from which providers translate. */

export type Part = TextPart | ImagePart | FilePart | AudioPart;
/** A text as the client sent it. */
export interface TextPart {
  kind: "text";
  text: string;
  /** The place in the request, such as `messages[2].content[0]`, for errors. */
  path: string;
  /** Anthropic's cache mark, or OpenAI's breakpoint written as one. */
  cache?: unknown;
}
/** An image by its address: see `readImage`. */
export interface ImagePart {
  kind: "image";
  /** `data:`, `http:` or `https:`. */
  url: string;
  path: string;
  cache?: unknown;
}
/** A file, given by its content or by its id at the provider. */
export interface FilePart {
  kind: "file";
  /** A `data:` URL, or bare base64 if the client sent that. */
  data?: string;
  fileId?: string;
  filename?: string;
  path: string;
  cache?: unknown;
}
interface AudioPart {
  kind: "audio";
  /** Base64. */
  data: string;
  /** `wav`, `mp3`, … */
  format: string;
  path: string;
}

/** A call of a tool by the assistant. */
export interface CallPart {
  /** The id as the client sent it. */
  id: string;
  name: string;
  /** The parsed arguments; `{}` if there were none. */
  args: Record<string, unknown>;
  /** `extra_content` of the call. */
  extra: unknown;
  path: string;
  /** As in `TextPart`. */
  cache?: unknown;
}

/** The result of a call. */
export interface ResultPart {
  callId: string;
  /** The name of the tool that was called. */
  name: string;
  parts: Part[];
  path: string;
  /** As in `TextPart`. */
  cache?: unknown;
}

/** A turn with the user's content and results of tools. */
export interface UserTurn {
  role: "user";
  /** The results of tools, which precede the parts. */
  results: ResultPart[];
  parts: Part[];
}
/** A turn with the model's content and calls. */
export interface AssistantTurn {
  role: "assistant";
  parts: Part[];
  calls: CallPart[];
  reasoning: string | undefined;
  /** `extra_content` of the message. */
  extra: unknown;
  /** True for a partial response that the model is to continue (prefill). */
  prefix?: boolean;
}
/** Instructions, which may come anywhere in the conversation. */
interface SystemTurn {
  role: "system";
  parts: TextPart[];
}
/** One turn of a conversation. */
export type Turn = UserTurn | AssistantTurn | SystemTurn;

/** A list of messages after it was read. */
export interface Conversation {
  /** In the order of the messages; a group of tool messages is one user turn. */
  turns: Turn[];
  /** The paths of what no turn contains: `messages[0].name`, an image's `detail`. */
  dropped: string[];
}
