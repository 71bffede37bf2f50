/** The progress of a turn. */
import type { TracedStep, WaitingCall } from "portico/agent";
import type { ChatMessage, ToolCallPart, Usage } from "portico/provider";

/** The work that a turn has done so far. JSON-ready, because the store keeps it with a paused turn. */
export interface LoopState {
  /** The messages after those with which the turn began. */
  added: ChatMessage[];
  usage: Usage;
  model: string;
  /** The number of times that a call had the same result, by a digest of both. */
  repeats: Record<string, number>;
  trace: TracedStep[];
  /** The calls of the last step, until all of them have results. */
  open?: OpenCalls | undefined;
}

export interface OpenCalls {
  calls: ToolCallPart[];
  /** The text in the same response of the model. */
  content: string;
  /** The index of the first call that has no result. */
  next: number;
  /** Messages with images, which must come after all results. */
  images: ChatMessage[];
  /** The calls that wait, or waited, for the owner. */
  waiting: WaitingCall[];
  /** True if the owner has confirmed one of the calls and it has run. */
  hasRunConfirmed?: boolean;
  isCircling?: boolean;
}

export function createLoopState(model: string): LoopState {
  const usage: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  return { added: [], usage, model, repeats: {}, trace: [] };
}
