/** The end of a turn. */
import type { ChatMessage, Usage } from "portico/provider";

export interface TurnEnd {
  text: string;
  model: string;
  steps: number;
  usage: Usage;
  ended: string;
  /** The user message and everything that followed. */
  messages: ChatMessage[];
}
