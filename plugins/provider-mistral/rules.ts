/** Mistral's demands on a whole request. */
import {
  assistantAfterTool,
  functionCallsAsTools,
  laterSystemToUser,
  noBlankAssistant,
  noCacheMarks,
  prefixLastAssistant,
  type RequestRule,
  shortCallId,
  uniqueToolIds,
  wellFormedUnicode,
} from "portico/provider";

/** The required length of ids of tool calls. */
export const ID_LENGTH = 9;

export const mistralRules: readonly RequestRule[] = [
  wellFormedUnicode,
  functionCallsAsTools,
  uniqueToolIds((id) => shortCallId(id, ID_LENGTH)),
  noCacheMarks(),
  noBlankAssistant,
  laterSystemToUser(["assistant", "tool"]),
  assistantAfterTool,
  prefixLastAssistant,
];
