/** The names of all presets, in a separate file so that reading them does not load the presets. */
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
