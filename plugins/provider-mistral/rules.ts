/** What Mistral demands of a whole request. */
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

/** Mistral refuses ids of any other length. */
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
