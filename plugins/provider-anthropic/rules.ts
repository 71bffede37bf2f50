/** What Anthropic demands of a whole request, in either form. */
import {
  claudeModel,
  functionCallsAsTools,
  imageTypes,
  noPrefill,
  type RequestRule,
  systemNotAlone,
  toolSchemas,
  uniqueToolIds,
  upstreamCallId,
  wellFormedUnicode,
} from "portico/provider";

export const anthropicRules: readonly RequestRule[] = [
  wellFormedUnicode,
  functionCallsAsTools,
  uniqueToolIds(upstreamCallId),
  toolSchemas(),
  imageTypes,
  systemNotAlone,
  noPrefill((model) => claudeModel(model).prefill),
];
