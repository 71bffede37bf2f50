/** A kept request as a `curl` command, to send it again from a shell. The token is not in it: `$PORTICO_TOKEN` is. */
import type { RequestDetails } from "./view.ts";

type Message = Record<string, unknown> & { role?: unknown; content?: unknown };

const SAMPLE: Message[] = [{ role: "user", content: "Hello" }];
const DEFAULT_MAX_TOKENS = 1024;

/** Undefined where no HTTP request asked for a model. */
export function curlOf(request: RequestDetails, url: string): string | undefined {
  const { route, alias, stream, tags } = request;
  const [method, path] = route?.split(" ") ?? [];
  const write = WRITERS[path ?? ""];
  if (method !== "POST" || alias === undefined || write === undefined) return undefined;
  const isKept = Array.isArray(request.prompt);
  const messages = isKept ? (request.prompt as Message[]) : SAMPLE;
  const body = { model: alias, ...write(messages), ...(stream === true ? { stream } : {}) };
  const headers = [
    '-H "Authorization: Bearer $PORTICO_TOKEN"',
    "-H 'Content-Type: application/json'",
  ];
  if (tags !== undefined) headers.push(`-H ${quoted(`x-portico-tags: ${tags.join(",")}`)}`);
  return [
    ...(isKept
      ? []
      : ["# The gateway did not keep the prompt (see log.content): this is a sample."]),
    [`curl ${quoted(url + path)}`, ...headers, `-d ${quoted(JSON.stringify(body))}`].join(
      " \\\n  ",
    ),
  ].join("\n");
}

/** The body of each route for messages in OpenAI's form, as the gateway keeps them. */
const WRITERS: Readonly<Record<string, (messages: Message[]) => Record<string, unknown>>> = {
  "/v1/chat/completions": (messages) => ({ messages }),
  "/v1/responses": (messages) => ({ input: messages }),
  "/v1/messages": anthropicBody,
  "/v1/completions": (messages) => ({ prompt: textsOf(messages).join("\n") }),
  "/v1/embeddings": (messages) => ({ input: textsOf(messages) }),
};

function anthropicBody(messages: Message[]): Record<string, unknown> {
  const isSystem = ({ role }: Message) => role === "system" || role === "developer";
  const system = textsOf(messages.filter(isSystem)).join("\n");
  const others = messages.filter((message) => !isSystem(message));
  return {
    max_tokens: DEFAULT_MAX_TOKENS,
    ...(system === "" ? {} : { system }),
    messages: others,
  };
}

function textsOf(messages: readonly Message[]): string[] {
  return messages.map(({ content }) =>
    typeof content === "string" ? content : JSON.stringify(content),
  );
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
