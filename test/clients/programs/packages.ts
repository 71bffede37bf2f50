import { packageTask } from "./package-task.ts";
import type { ClientProgram, WayIn } from "./program.ts";

const CHAT: WayIn = "/v1/chat/completions";
const MESSAGES: WayIn = "/v1/messages";
const RESPONSES: WayIn = "/v1/responses";

const AI_SDK: ClientProgram["packages"] = [
  "ai@6.0.325",
  "@ai-sdk/openai-compatible@2.0.92",
  "@ai-sdk/openai@3.0.141",
  "@ai-sdk/anthropic@3.0.140",
  "zod@4.6.7",
];
const LANGCHAIN: ClientProgram["packages"] = [
  "langchain-openai==1.7.4",
  "langchain-anthropic==1.7.10",
];

/** Creates the programs of a package, one for each route that it supports. */
function onEach(
  ways: readonly WayIn[],
  script: string,
  name: string,
  packages: ClientProgram["packages"],
): ClientProgram[] {
  return ways.map((wayIn) => packageTask(script, name, wayIn, packages));
}

export const packages: readonly ClientProgram[] = [
  ...onEach([CHAT, RESPONSES], "use_openai.py", "openai (Python)", ["openai==3.57.0"]),
  ...onEach([CHAT, RESPONSES], "openai.mjs", "openai (Node)", ["openai@6.49.0"]),
  ...onEach([MESSAGES], "use_anthropic.py", "anthropic (Python), tool_runner", [
    "anthropic==2.14.0",
  ]),
  ...onEach([MESSAGES], "anthropic.mjs", "@anthropic-ai/sdk, toolRunner", [
    "@anthropic-ai/sdk@1.14.0",
    "zod@4.6.7",
  ]),
  ...onEach([CHAT, RESPONSES], "use_openai_agents.py", "openai-agents (Python)", [
    "openai-agents==0.24.0",
  ]),
  ...onEach([CHAT, RESPONSES, MESSAGES], "ai-sdk.mjs", "AI SDK 6", AI_SDK),
  ...onEach([CHAT, RESPONSES, MESSAGES], "use_langchain.py", "LangChain (Python)", LANGCHAIN),
  ...onEach([CHAT, RESPONSES, MESSAGES], "use_pydantic_ai.py", "Pydantic AI", [
    "pydantic-ai-slim[openai,anthropic]==2.68.0",
  ]),
  ...onEach([CHAT], "use_llama_index.py", "LlamaIndex", ["llama-index-llms-openai-like==0.8.1"]),
  ...onEach([CHAT, MESSAGES], "use_litellm.py", "LiteLLM, as a client", ["litellm==1.110.2"]),
];
