/** A conversation as providers that translate read it. */

export type Part = TextPart | ImagePart | FilePart | AudioPart;
/** Text as the client gave it. */
export interface TextPart {
  kind: "text";
  text: string;
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
/** A file by its bytes or its id at the provider. */
export interface FilePart {
  kind: "file";
  /** A `data:` URL, or bare base64 where the client sent it so. */
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

/** One call of a tool by the assistant. */
export interface CallPart {
  /** As the client gave it. */
  id: string;
  name: string;
  /** The parsed arguments; `{}` where there were none. */
  args: Record<string, unknown>;
  /** `extra_content` of the call. */
  extra: unknown;
  path: string;
  /** As of a text. */
  cache?: unknown;
}

/** What one call came to. */
export interface ResultPart {
  callId: string;
  /** Of the tool whose call this answers. */
  name: string;
  parts: Part[];
  path: string;
  /** As of a text. */
  cache?: unknown;
}

/** The user's content, and results of tools. */
export interface UserTurn {
  role: "user";
  /** Answers of tools; they come before the parts. */
  results: ResultPart[];
  parts: Part[];
}
/** The model's content and calls. */
export interface AssistantTurn {
  role: "assistant";
  parts: Part[];
  calls: CallPart[];
  reasoning: string | undefined;
  /** `extra_content` of the message. */
  extra: unknown;
  /** The beginning of an answer, which the model continues. */
  prefix?: boolean;
}
/** Instructions, from anywhere in the conversation. */
interface SystemTurn {
  role: "system";
  parts: TextPart[];
}
/** One turn of a conversation. */
export type Turn = UserTurn | AssistantTurn | SystemTurn;

/** A list of messages, read. */
export interface Conversation {
  /** In the order of the messages; a group of tool messages is one user turn. */
  turns: Turn[];
  /** Paths of what no turn holds: `messages[0].name`, an image's `detail`. */
  dropped: string[];
}
