/** How far a turn has come. */
import type { TracedStep, WaitingCall } from "portico/agent";
import type { ChatMessage, ToolCallPart, Usage } from "portico/provider";

/** What a turn has done so far. JSON-ready: a turn that waits is stored with it. */
export interface LoopState {
  /** Messages behind those that the turn began with. */
  added: ChatMessage[];
  usage: Usage;
  model: string;
  /** How often a call had the same result, by a digest of both. */
  repeats: Record<string, number>;
  trace: TracedStep[];
  /** Calls of the last step that have not all been answered. */
  open?: OpenCalls | undefined;
}

export interface OpenCalls {
  calls: ToolCallPart[];
  /** The text of the model beside them. */
  content: string;
  /** The first call that has no result. */
  next: number;
  /** Messages with images, which follow the results. */
  images: ChatMessage[];
  /** Those of `calls` that wait for the owner, or waited. */
  waiting: WaitingCall[];
  /** A call was confirmed and has run. */
  hasRunConfirmed?: boolean;
  isCircling?: boolean;
}

export function newLoopState(model: string): LoopState {
  const usage: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  return { added: [], usage, model, repeats: {}, trace: [] };
}
