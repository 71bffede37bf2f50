/**
 * The capabilities of families of models, as published by their makers (2026-11). Claude is here and not in one provider,
 * because both Anthropic and Bedrock serve it.
 */

/** The capabilities of a Claude model. */
export interface ClaudeModel {
  /** The maximum number of tokens of a response; also the default of the required `max_tokens`. */
  maxOutput: number;
  /** `free`: 0 to 1; `one`: `temperature` or `top_p`, not both; `fixed`: any value but the default is refused. */
  sampling: "free" | "one" | "fixed";
  /** `budget`: a number of tokens; `adaptive`: the model decides, steered by effort. */
  thinking: "none" | "budget" | "adaptive";
  /** The `thinking.type` that turns adaptive thinking off, at least nearly; undefined if it cannot be turned off. */
  off: "disabled" | "between_tools" | undefined;
  /** The efforts that `output_config.effort` accepts. */
  efforts: readonly string[];
  /** True if the response omits the text of thinking unless `display` asks for it. */
  displayOmitted: boolean;
  /** True if `tool_choice` may be `any` or a named tool. */
  forcedTools: boolean;
  /** True if the model supports `output_config.format` and strict tools. */
  schemas: boolean;
  /** True if the model continues a partial response in the last message (prefill). */
  prefill: boolean;
}

const ALL_EFFORTS = ["low", "medium", "high", "xhigh", "max"] as const;

const OLD: ClaudeModel = {
  maxOutput: 4096,
  sampling: "free",
  thinking: "none",
  off: "disabled",
  efforts: [],
  displayOmitted: false,
  forcedTools: true,
  schemas: false,
  prefill: true,
};
const BUDGET: ClaudeModel = { ...OLD, maxOutput: 64_000, thinking: "budget" };
const FOUR_FIVE: ClaudeModel = { ...BUDGET, sampling: "one", schemas: true };
const FOUR_SIX: ClaudeModel = {
  ...FOUR_FIVE,
  maxOutput: 128_000,
  thinking: "adaptive",
  efforts: ["low", "medium", "high", "max"],
  prefill: false,
};
const NEW: ClaudeModel = {
  ...FOUR_SIX,
  sampling: "fixed",
  efforts: ALL_EFFORTS,
  displayOmitted: true,
};
const ALWAYS_THINKS: ClaudeModel = { ...NEW, off: undefined };

/** The first match applies. Ids of Bedrock (`us.anthropic.claude-…-v1:0`) and Vertex (`claude-…@date`) match too. */
const CLAUDE: readonly (readonly [RegExp, ClaudeModel])[] = [
  [/claude-sonnet-5[-.]5/, { ...ALWAYS_THINKS, off: "between_tools", forcedTools: false }],
  [/claude-(opus-5[-.]5|(fable|mythos)-5[-.]\d\b)/, { ...ALWAYS_THINKS, forcedTools: false }],
  [/claude-(fable|mythos)-5/, ALWAYS_THINKS],
  [/claude-(opus-4[-.][78]|opus-5|sonnet-5|haiku-5|mythos)/, NEW],
  [/claude-(opus|sonnet)-4[-.]6/, FOUR_SIX],
  [/claude-(opus|sonnet|haiku)-4[-.]5/, FOUR_FIVE],
  [/claude-opus-4[-.]1\b/, { ...FOUR_FIVE, maxOutput: 32_000 }],
  [/claude-opus-4/, { ...BUDGET, maxOutput: 32_000 }],
  [/claude-sonnet-4/, BUDGET],
  [/claude-3[-.]7/, BUDGET],
  [/claude-3[-.]5/, { ...OLD, maxOutput: 8192 }],
  [/claude-(3|v?2|instant)/, OLD],
  // A version that is not in the table is newer than all others.
  [/claude-[a-z]+-\d/, NEW],
  [/claude/, FOUR_FIVE],
];

/** Returns the capabilities of a model. One that is not Claude (at a server of Anthropic's format) gets basic ones. */
export function claudeModel(model: string): ClaudeModel {
  const id = model.toLowerCase();
  return (
    CLAUDE.find(([pattern]) => pattern.test(id))?.[1] ?? {
      ...BUDGET,
      maxOutput: 4096,
      schemas: true,
    }
  );
}

/** True if the id names a Claude model, on any host. */
export function isClaude(model: string): boolean {
  return /claude/i.test(model);
}

/** The capabilities of a Gemini model. */
export interface GeminiModel {
  /** `level` from Gemini 3 on, `budget` with 2.5, `none` before. */
  thinking: "none" | "budget" | "level";
  /** True for Pro models, which cannot turn thinking off. */
  pro: boolean;
  /** The thinking levels that it accepts, weakest first. */
  levels: readonly string[];
  /** True if calls in the history need a thought signature. */
  needsSignatures: boolean;
  /** True if a request may have both tools and JSON output. */
  toolsWithJson: boolean;
}

/** Returns the capabilities of a model. Gemini without a version counts as Gemini 3, other names (Gemma) have no thinking. */
export function geminiModel(model: string): GeminiModel {
  const id = model.toLowerCase();
  const version = Number(/gemini-(\d+(?:\.\d+)?)/.exec(id)?.[1] ?? (/gemini/.test(id) ? "3" : "1"));
  const pro = /pro/.test(id);
  return {
    thinking: thinkingOf(version),
    pro,
    levels: levelsOf(version, pro),
    needsSignatures: version >= 3,
    toolsWithJson: version >= 3,
  };
}

function thinkingOf(version: number): GeminiModel["thinking"] {
  if (version >= 3) return "level";
  return version >= 2.5 ? "budget" : "none";
}

function levelsOf(version: number, isPro: boolean): string[] {
  if (!isPro) return ["MINIMAL", "LOW", "MEDIUM", "HIGH"];
  return version >= 3.1 ? ["LOW", "MEDIUM", "HIGH"] : ["LOW", "HIGH"];
}

/** Models of Mistral, which require a certain order of roles wherever they are hosted. */
export const MISTRAL_MODELS = {
  where: "Mistral's models",
  test: ({ model }: { model: string }) =>
    /(?:mistral|mixtral|codestral|devstral|ministral|pixtral|magistral|voxtral)/i.test(model),
};
