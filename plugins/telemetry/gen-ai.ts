/**
 * Spans by OpenTelemetry's semantic conventions for generative AI
 * (https://opentelemetry.io/docs/specs/semconv/gen-ai/). They hold no content of messages.
 */
import type { Events } from "portico";
import type { ChatRecord } from "portico/models";
import { deriveIds, placeBelow, type Span, createSpan } from "./span.ts";

/** The conventions' own names for providers. */
const PROVIDERS: Readonly<Record<string, string>> = {
  azure: "azure.ai.openai",
  bedrock: "aws.bedrock",
  gemini: "gcp.gemini",
  mistral: "mistral_ai",
};

/** Creates the span of a request to a model. */
export function chatSpan(record: ChatRecord, endedAt: number): Span {
  const { model, provider, status, usage, client } = record;
  const operation =
    record.operation === "completions" ? "text_completion" : (record.operation ?? "chat");
  return createSpan({
    name: `${operation} ${model}`.trim(),
    kind: "client",
    endedAt,
    ms: record.ms,
    error: status >= 400 ? String(status) : undefined,
    place: placeBelow(record.traceparent),
    attributes: {
      "gen_ai.operation.name": operation,
      "gen_ai.provider.name": PROVIDERS[provider] ?? provider,
      "gen_ai.request.model": model,
      "gen_ai.usage.input_tokens": usage?.prompt_tokens,
      "gen_ai.usage.output_tokens": usage?.completion_tokens,
      "http.response.status_code": status,
      "portico.request_id": record.requestId,
      "portico.channel": record.channel,
      "portico.attempts": record.attempts,
      "portico.stream": record.stream,
      "portico.cached": record.cached || undefined,
      "portico.client_key": client.kind === "key" ? client.key : undefined,
      "portico.first_byte_ms": record.firstByteMs,
    },
  });
}

type Turn = Pick<Events["agent:failed"], "agentId" | "sessionId" | "turnId" | "source">;

const turnAttributes = ({ agentId, sessionId, turnId, source }: Turn) => ({
  "gen_ai.operation.name": "invoke_agent",
  "gen_ai.agent.name": agentId,
  "gen_ai.conversation.id": sessionId,
  "portico.turn_id": turnId,
  "portico.source": source,
});

/** Creates the span of a turn that ended with an answer. */
export function turnSpan(turn: Events["agent:completed"], endedAt: number): Span {
  return createSpan({
    name: `invoke_agent ${turn.agentId}`,
    kind: "internal",
    endedAt,
    ms: turn.ms,
    place: deriveIds(turn.turnId),
    attributes: {
      ...turnAttributes(turn),
      "gen_ai.request.model": turn.model,
      "gen_ai.usage.input_tokens": turn.usage.prompt_tokens,
      "gen_ai.usage.output_tokens": turn.usage.completion_tokens,
      "portico.steps": turn.steps,
      "portico.attempts": turn.attempts,
    },
  });
}

/**
 * Creates the span of a failed attempt at a turn. If another attempt follows, it is a child of the turn's span, which is
 * sent when the turn ends.
 */
export function failedTurnSpan(turn: Events["agent:failed"], endedAt: number): Span {
  const { traceId, spanId } = deriveIds(turn.turnId);
  return createSpan({
    name: `invoke_agent ${turn.agentId}`,
    kind: "internal",
    endedAt,
    ms: 0,
    error: turn.error.code,
    place: turn.willRetry ? { traceId, parentSpanId: spanId } : { traceId, spanId },
    attributes: { ...turnAttributes(turn), "portico.attempts": turn.attempts },
  });
}

/** Creates the span of a tool call in a turn. */
export function toolSpan(
  { turnId, sessionId, tool, ok, ms }: Events["agent:tool"],
  endedAt: number,
): Span {
  const { traceId, spanId } = deriveIds(turnId);
  return createSpan({
    name: `execute_tool ${tool}`,
    kind: "internal",
    endedAt,
    ms,
    error: ok ? undefined : "tool_error",
    place: { traceId, parentSpanId: spanId },
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool,
      "gen_ai.conversation.id": sessionId,
      "portico.turn_id": turnId,
    },
  });
}
