/** Anthropic's demands on a whole request, in either form. */
import {
  claudeModel,
  functionCallsAsTools,
  imageTypes,
  noBlankTexts,
  noPrefill,
  noTrailingSpace,
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
  noBlankTexts,
  uniqueToolIds(upstreamCallId),
  toolSchemas(),
  imageTypes,
  systemNotAlone,
  noPrefill((model) => claudeModel(model).prefill),
  noTrailingSpace,
];
