/** The demands of deployments on Azure on a whole request. */
import {
  assistantAfterTool,
  claudeModel,
  laterSystemToUser,
  limitNamed,
  MISTRAL_MODELS,
  noCacheMarks,
  noPrefill,
  onlyOwnMembers,
  prefixLastAssistant,
  type RequestRule,
  wellFormedUnicode,
} from "portico/provider";

/** Deployments with the name of a reasoning model, which refuse `max_tokens`. */
const REASONING_MODEL = /^(?:o\d|gpt-5)/;

export const azureRules: readonly RequestRule[] = [
  wellFormedUnicode,
  limitNamed("max_completion_tokens", {
    where: "deployments named after an o-series or gpt-5 model",
    test: ({ model }) => REASONING_MODEL.test(model),
  }),
  onlyOwnMembers,
  noCacheMarks({ translatedOnly: true }),
  { ...laterSystemToUser(["assistant", "tool"]), only: MISTRAL_MODELS },
  { ...assistantAfterTool, only: MISTRAL_MODELS },
  { ...prefixLastAssistant, only: MISTRAL_MODELS },
  noPrefill((model) => claudeModel(model).prefill),
];
