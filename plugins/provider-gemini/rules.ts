/** Gemini's demands on a whole request. */
import {
  functionCallsAsTools,
  imageTypes,
  noBlankTexts,
  noCacheMarks,
  type RequestRule,
  systemNotAlone,
  toolSchemas,
  userTurnFirst,
  wellFormedUnicode,
} from "portico/provider";

export const geminiRules: readonly RequestRule[] = [
  wellFormedUnicode,
  functionCallsAsTools,
  noBlankTexts,
  toolSchemas(),
  imageTypes,
  noCacheMarks(),
  systemNotAlone,
  userTurnFirst("calls"),
];
