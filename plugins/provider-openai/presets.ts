/** Servers of OpenAI's format: their addresses and demands, as documented by them in 2026-11. */
import {
  assistantAfterTool,
  claudeModel,
  developerAsSystem,
  imageTypes,
  laterSystemToUser,
  limitNamed,
  MISTRAL_MODELS,
  noCacheMarks,
  noParameters,
  noPrefill,
  onlyOwnMembers,
  prefixLastAssistant,
  reasoningBesideCalls,
  reasoningOnlyBesideCalls,
  type RequestRule,
  type RuleTarget,
  toolSchemas,
  uniqueToolIds,
  wellFormedUnicode,
} from "portico/provider";

export interface Preset {
  name: string;
  description: string;
  /** Including `/v1`, as in the configuration. */
  baseUrl: string;
  rules: readonly RequestRule[];
  /** False if the server has no `GET /models`. */
  lists?: false;
  /** True if its models sign their reasoning: see `WireProvider.signsReasoning`. */
  signs?: true;
}

/** The rules of nearly all servers. Every server demands well-formed Unicode; translated requests may have cache marks. */
const COMMON: readonly RequestRule[] = [wellFormedUnicode, noCacheMarks({ translatedOnly: true })];
/** The rules of servers that accept only the older names. */
const OLDER_NAMES: readonly RequestRule[] = [developerAsSystem, limitNamed("max_tokens")];

export const OPENAI_URL = "https://api.openai.com/v1";

/** Limits a rule to OpenAI's own address, because a channel of `openai` may have another server. */
function onlyAtOpenAi(where: string, models = /./): NonNullable<RequestRule["only"]> {
  return {
    where: `OpenAI's own address${where}`,
    test: ({ baseUrl, model }) => baseUrl === OPENAI_URL && models.test(model),
  };
}

const OPENAI: readonly RequestRule[] = [
  limitNamed("max_completion_tokens", onlyAtOpenAi(", o-series and gpt-5", /^(?:o\d|gpt-5)/)),
  { ...onlyOwnMembers, only: onlyAtOpenAi("") },
  noParameters(["top_k"], onlyAtOpenAi("")),
  noParameters(["reasoning_effort"], onlyAtOpenAi(", gpt-4 and older", /^(?:chatgpt|gpt-(?:3|4))/)),
];

/** Limits a rule to the models of one maker. OpenRouter prefixes a model with its maker, and passes on the maker's errors. */
function onlyMadeBy(maker: string, name: string): NonNullable<RequestRule["only"]> {
  const test = ({ model }: RuleTarget) => model.startsWith(maker);
  return { where: name, test };
}

const ANTHROPIC_MODELS = onlyMadeBy("anthropic/", "Anthropic's models");
const MISTRAL_AI_MODELS = onlyMadeBy("mistralai/", "Mistral's models");

const OPENROUTER: readonly RequestRule[] = [
  wellFormedUnicode,
  {
    ...uniqueToolIds((id) => id),
    only: {
      where: "Anthropic's and Mistral's models",
      test: (target) => ANTHROPIC_MODELS.test(target) || MISTRAL_AI_MODELS.test(target),
    },
  },
  toolSchemas({ only: ANTHROPIC_MODELS }),
  { ...imageTypes, only: ANTHROPIC_MODELS },
  { ...laterSystemToUser(["assistant", "tool"]), only: MISTRAL_AI_MODELS },
  { ...assistantAfterTool, only: MISTRAL_AI_MODELS },
  { ...prefixLastAssistant, only: MISTRAL_AI_MODELS },
  noPrefill((model) => claudeModel(model).prefill),
];

/** Mistral's own chat template checks the order of roles as its API does. */
const LOCAL_MISTRAL: readonly RequestRule[] = [{ ...assistantAfterTool, only: MISTRAL_MODELS }];

/** `deepseek-chat` thinks only if the request turns thinking on. */
const thinksByDefault = (model: string) => !/deepseek-chat/.test(model);

export const presets: readonly Preset[] = [
  {
    name: "openai",
    description: "OpenAI, or the server with OpenAI's format that baseUrl names",
    baseUrl: OPENAI_URL,
    rules: [...COMMON, ...OPENAI],
  },
  {
    name: "openrouter",
    description: "OpenRouter",
    baseUrl: "https://openrouter.ai/api/v1",
    rules: OPENROUTER,
    signs: true,
  },
  {
    name: "groq",
    description: "Groq",
    baseUrl: "https://api.groq.com/openai/v1",
    rules: [...COMMON, onlyOwnMembers, noParameters(["logprobs", "top_logprobs", "logit_bias"])],
  },
  {
    name: "deepseek",
    description: "DeepSeek",
    baseUrl: "https://api.deepseek.com/v1",
    rules: [
      ...COMMON,
      ...OLDER_NAMES,
      reasoningOnlyBesideCalls,
      reasoningBesideCalls(thinksByDefault),
    ],
  },
  {
    name: "xai",
    description: "xAI",
    baseUrl: "https://api.x.ai/v1",
    rules: [
      ...COMMON,
      noParameters(["presence_penalty", "frequency_penalty", "stop"], {
        where: "reasoning models",
        test: ({ model }) => /^grok-(?:3-mini|4|code)/.test(model),
      }),
    ],
  },
  {
    name: "together",
    description: "Together AI",
    baseUrl: "https://api.together.xyz/v1",
    rules: [...COMMON, ...OLDER_NAMES],
  },
  {
    name: "fireworks",
    description: "Fireworks AI",
    baseUrl: "https://api.fireworks.ai/inference/v1",
    rules: [...COMMON, ...OLDER_NAMES],
  },
  {
    name: "cerebras",
    description: "Cerebras",
    baseUrl: "https://api.cerebras.ai/v1",
    rules: [
      ...COMMON,
      developerAsSystem,
      noParameters(["frequency_penalty", "presence_penalty", "logit_bias"]),
    ],
  },
  {
    name: "perplexity",
    description: "Perplexity",
    baseUrl: "https://api.perplexity.ai",
    rules: [
      ...COMMON,
      ...OLDER_NAMES,
      noParameters(["logit_bias", "logprobs", "top_logprobs", "seed"]),
    ],
    lists: false,
  },
  {
    name: "nvidia",
    description: "NVIDIA NIM",
    baseUrl: "https://integrate.api.nvidia.com/v1",
    rules: [...COMMON, ...OLDER_NAMES],
  },
  {
    name: "huggingface",
    description: "Hugging Face inference providers",
    baseUrl: "https://router.huggingface.co/v1",
    rules: [...COMMON, ...OLDER_NAMES],
  },
  {
    name: "vllm",
    description: "vLLM on this machine",
    baseUrl: "http://127.0.0.1:8000/v1",
    rules: [...COMMON, laterSystemToUser(), developerAsSystem, ...LOCAL_MISTRAL],
  },
  {
    name: "lmstudio",
    description: "LM Studio on this machine",
    baseUrl: "http://127.0.0.1:1234/v1",
    rules: [...COMMON, laterSystemToUser(), ...OLDER_NAMES, ...LOCAL_MISTRAL],
  },
  {
    name: "llamacpp",
    description: "llama.cpp's server on this machine",
    baseUrl: "http://127.0.0.1:8080/v1",
    rules: [...COMMON, laterSystemToUser(), ...OLDER_NAMES, ...LOCAL_MISTRAL],
  },
];
