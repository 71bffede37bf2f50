/** Converse's demands on a whole request. */
import {
  assistantAfterTool,
  claudeModel,
  documentNames,
  functionCallsAsTools,
  imageTypes,
  isClaude,
  type JsonObject,
  MISTRAL_MODELS,
  noCacheMarks,
  noBlankTexts,
  noPrefill,
  noTrailingSpace,
  type RequestRule,
  systemNotAlone,
  textBesideDocuments,
  toolSchemas,
  uniqueToolIds,
  upstreamCallId,
  userTurnFirst,
  wellFormedUnicode,
} from "portico/provider";

const isNova = (model: string) => /amazon\.nova/.test(model);

/** The only members that Nova allows at the root of a schema, according to its documentation. */
const NOVA_ROOT = ["type", "properties", "required"];

export const bedrockRules: readonly RequestRule[] = [
  wellFormedUnicode,
  functionCallsAsTools,
  noBlankTexts,
  uniqueToolIds(upstreamCallId),
  toolSchemas({ rootMembers: { names: NOVA_ROOT, test: ({ model }) => isNova(model) } }),
  imageTypes,
  documentNames(isDocument),
  textBesideDocuments(isDocument),
  noCacheMarks({
    only: {
      where: "all models except Claude and Nova",
      test: ({ model }) => !isClaude(model) && !isNova(model),
    },
  }),
  noCacheMarks({
    toolsOnly: true,
    only: { where: "Nova", test: ({ model }) => isNova(model) },
  }),
  systemNotAlone,
  userTurnFirst("any"),
  { ...assistantAfterTool, only: MISTRAL_MODELS },
  noPrefill((model) => claudeModel(model).prefill),
  noTrailingSpace,
];

/** True for a file that is sent as a document. Images in file parts are sent as images. */
function isDocument(file: JsonObject): boolean {
  const data = file["file_data"];
  return !(typeof data === "string" && /^data:image\//i.test(data));
}
