/** Writes a recorded request as a `curl` command that sends it again. It names `$PORTICO_TOKEN` in place of the token. */
import type { RequestDetails } from "./view.ts";

type Message = Record<string, unknown> & { role?: unknown; content?: unknown };

const SAMPLE: Message[] = [{ role: "user", content: "Hello" }];
const DEFAULT_MAX_TOKENS = 1024;

/** Returns the command; undefined if the request did not send messages to a model over HTTP. */
export function curlOf(request: RequestDetails, url: string): string | undefined {
  const { route, alias, stream, tags } = request;
  const [method, path] = route?.split(" ") ?? [];
  const write = WRITERS[path ?? ""];
  if (method !== "POST" || alias === undefined || write === undefined) return undefined;
  const hasPrompt = Array.isArray(request.prompt);
  const messages = hasPrompt ? (request.prompt as Message[]) : SAMPLE;
  const body = { model: alias, ...write(messages), ...(stream === true ? { stream } : {}) };
  const headers = [
    '-H "Authorization: Bearer $PORTICO_TOKEN"',
    "-H 'Content-Type: application/json'",
  ];
  if (tags !== undefined) headers.push(`-H ${quote(`x-portico-tags: ${tags.join(",")}`)}`);
  return [
    ...(hasPrompt
      ? []
      : [
          "# The gateway did not store the prompt (see the setting log.content), so this command sends a sample prompt.",
        ]),
    [`curl ${quote(url + path)}`, ...headers, `-d ${quote(JSON.stringify(body))}`].join(" \\\n  "),
  ].join("\n");
}

/** The body of each route for messages in OpenAI's form, in which the gateway records them. */
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

/** Quotes a text for a POSIX shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
