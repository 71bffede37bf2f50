/**
 * What the gateway does, in OpenTelemetry's words for generative AI
 * (https://opentelemetry.io/docs/specs/semconv/gen-ai/). Nothing of what was said is in them.
 */
import type { Events } from "portico";
import type { ChatRecord } from "portico/models";
import { idsOf, placeBelow, type Span, spanOf } from "./span.ts";

/** Providers that the conventions have a name of their own for. */
const PROVIDERS: Readonly<Record<string, string>> = {
  azure: "azure.ai.openai",
  bedrock: "aws.bedrock",
  gemini: "gcp.gemini",
  mistral: "mistral_ai",
};

/** One request to a model. */
export function chatSpan(record: ChatRecord, endedAt: number): Span {
  const { model, provider, status, usage, client } = record;
  const operation =
    record.operation === "completions" ? "text_completion" : (record.operation ?? "chat");
  return spanOf({
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

/** A turn of the agent that has ended with an answer. */
export function turnSpan(turn: Events["agent:completed"], endedAt: number): Span {
  return spanOf({
    name: `invoke_agent ${turn.agentId}`,
    kind: "internal",
    endedAt,
    ms: turn.ms,
    place: idsOf(turn.turnId),
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

/** An attempt at a turn that has failed. Where another follows, it is a part of the turn, whose span comes at its end. */
export function failedTurnSpan(turn: Events["agent:failed"], endedAt: number): Span {
  const { traceId, spanId } = idsOf(turn.turnId);
  return spanOf({
    name: `invoke_agent ${turn.agentId}`,
    kind: "internal",
    endedAt,
    ms: 0,
    error: turn.error.code,
    place: turn.willRetry ? { traceId, parentSpanId: spanId } : { traceId, spanId },
    attributes: { ...turnAttributes(turn), "portico.attempts": turn.attempts },
  });
}

/** A tool that was called in a turn. */
export function toolSpan(
  { turnId, sessionId, tool, ok, ms }: Events["agent:tool"],
  endedAt: number,
): Span {
  const { traceId, spanId } = idsOf(turnId);
  return spanOf({
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
