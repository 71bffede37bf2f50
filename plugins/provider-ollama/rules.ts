/** Ollama's demands on a whole request. */
import {
  functionCallsAsTools,
  laterSystemToUser,
  noCacheMarks,
  type RequestRule,
  wellFormedUnicode,
} from "portico/provider";

export const ollamaRules: readonly RequestRule[] = [
  wellFormedUnicode,
  functionCallsAsTools,
  noCacheMarks(),
  laterSystemToUser(),
];
