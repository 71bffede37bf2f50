/** Servers of OpenAI's format: where they are, and what they do not take. Facts of 2026-11, from their documentation. */

export interface Preset {
  name: string;
  description: string;
  /** With its `/v1`, as in the configuration. */
  baseUrl: string;
  quirks?: Quirks;
  /** False: there is no `GET /models`. */
  lists?: false;
}

/** Changes to a request; `models` narrows one to the models whose name fits. */
export interface Quirks {
  /** Fields that are refused: left out, and named in `x-portico-dropped`. */
  drop?: readonly string[];
  /** Fields that some models refuse. */
  dropFor?: readonly { models: RegExp; fields: readonly string[] }[];
  /** The role `developer` is not known: it goes as `system`. */
  noDeveloper?: true;
  /** Only `max_tokens` is known: `max_completion_tokens` goes under that name. */
  noMaxCompletionTokens?: true;
  /** These models take `max_completion_tokens` only. */
  noMaxTokensFor?: RegExp;
  /** `reasoning_content` of earlier messages is refused, other than beside tool calls. */
  noReasoningBack?: true;
  /** Messages with fields that OpenAI's format does not have (other providers' reasoning and signatures) are refused. */
  strictMessages?: true;
}

const OPENAI_REASONING = /^(?:o\d|gpt-5)/;
const OPENAI_PLAIN = /^(?:chatgpt|gpt-(?:3|4))/;
const LOCAL: Quirks = { noDeveloper: true };

export const presets: readonly Preset[] = [
  {
    name: "openai",
    description: "OpenAI, or any server of its format by baseUrl",
    baseUrl: "https://api.openai.com/v1",
    quirks: {
      noMaxTokensFor: OPENAI_REASONING,
      strictMessages: true,
      drop: ["top_k"],
      dropFor: [{ models: OPENAI_PLAIN, fields: ["reasoning_effort"] }],
    },
  },
  { name: "openrouter", description: "OpenRouter", baseUrl: "https://openrouter.ai/api/v1" },
  {
    name: "groq",
    description: "Groq",
    baseUrl: "https://api.groq.com/openai/v1",
    quirks: { strictMessages: true, drop: ["logprobs", "top_logprobs", "logit_bias"] },
  },
  {
    name: "deepseek",
    description: "DeepSeek",
    baseUrl: "https://api.deepseek.com/v1",
    quirks: { noDeveloper: true, noMaxCompletionTokens: true, noReasoningBack: true },
  },
  {
    name: "xai",
    description: "xAI",
    baseUrl: "https://api.x.ai/v1",
    quirks: {
      dropFor: [
        {
          models: /^grok-(?:3-mini|4|code)/,
          fields: ["presence_penalty", "frequency_penalty", "stop"],
        },
      ],
    },
  },
  {
    name: "together",
    description: "Together AI",
    baseUrl: "https://api.together.xyz/v1",
    quirks: { noDeveloper: true, noMaxCompletionTokens: true },
  },
  {
    name: "fireworks",
    description: "Fireworks AI",
    baseUrl: "https://api.fireworks.ai/inference/v1",
    quirks: { noDeveloper: true, noMaxCompletionTokens: true },
  },
  {
    name: "cerebras",
    description: "Cerebras",
    baseUrl: "https://api.cerebras.ai/v1",
    quirks: { noDeveloper: true, drop: ["frequency_penalty", "presence_penalty", "logit_bias"] },
  },
  {
    name: "perplexity",
    description: "Perplexity",
    baseUrl: "https://api.perplexity.ai",
    quirks: {
      noDeveloper: true,
      noMaxCompletionTokens: true,
      drop: ["logit_bias", "logprobs", "top_logprobs", "seed"],
    },
    lists: false,
  },
  {
    name: "nvidia",
    description: "NVIDIA NIM",
    baseUrl: "https://integrate.api.nvidia.com/v1",
    quirks: { noDeveloper: true, noMaxCompletionTokens: true },
  },
  {
    name: "huggingface",
    description: "Hugging Face inference providers",
    baseUrl: "https://router.huggingface.co/v1",
    quirks: { noDeveloper: true, noMaxCompletionTokens: true },
  },
  {
    name: "vllm",
    description: "vLLM on this machine",
    baseUrl: "http://127.0.0.1:8000/v1",
    quirks: LOCAL,
  },
  {
    name: "lmstudio",
    description: "LM Studio on this machine",
    baseUrl: "http://127.0.0.1:1234/v1",
    quirks: { noDeveloper: true, noMaxCompletionTokens: true },
  },
  {
    name: "llamacpp",
    description: "llama.cpp's server on this machine",
    baseUrl: "http://127.0.0.1:8080/v1",
    quirks: { noDeveloper: true, noMaxCompletionTokens: true },
  },
];
