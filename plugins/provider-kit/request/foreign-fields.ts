/**
 * Fields of assistant messages that OpenAI's format does not have: reasoning and signatures from the responses of another
 * provider. A conversation that began there contains them, and strict servers refuse them.
 */
interface Call {
  extra_content?: unknown;
}
interface Message {
  role: string;
  reasoning_content?: unknown;
  extra_content?: unknown;
  tool_calls?: readonly Call[] | null | undefined;
}

/** True if the message has any foreign field. */
export function hasForeignFields(message: Message): boolean {
  if (message.role !== "assistant") return false;
  if (message.reasoning_content != null || message.extra_content != null) return true;
  return message.tool_calls?.some((call) => call.extra_content != null) ?? false;
}

/** Returns the message without its foreign fields. All other members remain, also unknown kinds of calls. */
export function withoutForeignFields<M extends Message>(message: M): M {
  const { reasoning_content: _, extra_content: __, ...rest } = message;
  const calls = message.tool_calls?.map(({ extra_content: ___, ...call }) => call);
  return { ...rest, tool_calls: calls } as M;
}
