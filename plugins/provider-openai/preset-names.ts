/** The names of all presets, readable without loading what each of them needs. */
export const presetNames: readonly string[] = [
  "openai",
  "openrouter",
  "groq",
  "deepseek",
  "xai",
  "together",
  "fireworks",
  "cerebras",
  "perplexity",
  "nvidia",
  "huggingface",
  "vllm",
  "lmstudio",
  "llamacpp",
];
