/**
 * What each family of models takes, as published by their makers (2026-11). Claude stands here and not with one
 * provider because Anthropic and Bedrock both serve it.
 */

/** What one Claude takes. */
export interface ClaudeModel {
  /** The most tokens that one response may have; also the default of the required `max_tokens`. */
  maxOutput: number;
  /** `free`: 0 to 1; `one`: `temperature` or `top_p`, not both; `fixed`: any value but the default is refused. */
  sampling: "free" | "one" | "fixed";
  /** `budget`: a number of tokens; `adaptive`: the model decides, steered by effort. */
  thinking: "none" | "budget" | "adaptive";
  /** What turns adaptive thinking off, or nearly; undefined where nothing does. */
  off: "disabled" | "between_tools" | undefined;
  /** Efforts that `output_config.effort` takes. */
  efforts: readonly string[];
  /** Thinking text is left out of the response unless `display` asks for it. */
  displayOmitted: boolean;
  /** `tool_choice` may be `any` or a named tool. */
  forcedTools: boolean;
  /** `output_config.format` and strict tools. */
  schemas: boolean;
  /** It continues the beginning of an answer in the last message. */
  prefill: boolean;
}

const ALL = ["low", "medium", "high", "xhigh", "max"] as const;

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
const NEW: ClaudeModel = { ...FOUR_SIX, sampling: "fixed", efforts: ALL, displayOmitted: true };
const ALWAYS_THINKS: ClaudeModel = { ...NEW, off: undefined };

/** First match wins. Ids of Bedrock (`us.anthropic.claude-…-v1:0`) and Vertex (`claude-…@date`) match too. */
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
  // A number that the table does not know yet: newer than all of them.
  [/claude-[a-z]+-\d/, NEW],
  [/claude/, FOUR_FIVE],
];

/** A model that is no Claude (behind a server of Anthropic's format) is taken to support the plain format. */
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

/** True where the id names a Claude, wherever it is hosted. */
export function isClaude(model: string): boolean {
  return /claude/i.test(model);
}

/** What one Gemini takes. */
export interface GeminiModel {
  /** `level` from Gemini 3 on, `budget` with 2.5, `none` before. */
  thinking: "none" | "budget" | "level";
  /** Pro models cannot stop thinking. */
  pro: boolean;
  /** The thinking levels that it takes, weakest first. */
  levels: readonly string[];
  /** Calls in the history need a thought signature. */
  needsSignatures: boolean;
  /** Function calling and JSON output in one request. */
  toolsWithJson: boolean;
}

/** Unknown Gemini names are taken for the newest generation; other names (Gemma) for models without thinking. */
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
