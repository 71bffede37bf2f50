import { anthropic } from "./anthropic.ts";
import { azure } from "./azure.ts";
import { bedrock } from "./bedrock.ts";
import type { Dialect } from "./dialect.ts";
import { gemini } from "./gemini.ts";
import { mistral } from "./mistral.ts";
import { ollama } from "./ollama.ts";
import { openai } from "./openai.ts";

export * from "./dialect.ts";
export * from "./server.ts";
export const dialects: readonly Dialect[] = [
  openai,
  azure,
  anthropic,
  gemini,
  bedrock,
  ollama,
  mistral,
];
