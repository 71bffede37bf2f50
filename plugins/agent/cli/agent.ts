/**
 * `portico agent`: a turn from the command line. It is not derived from its route, because it prints the stream as it
 * arrives.
 */
import { type CommandIO, defineCommand } from "portico/command-line";

interface End {
  state: string;
  result?: string;
  error?: { code: string; message: string };
  turnId: string;
  sessionId: string;
}

export default defineCommand({
  name: "agent",
  summary: "Give the agent a task and show its response",
  description:
    "Runs one turn and prints the response as it arrives. The messages /new, /reset and /stop are commands: they begin a new session, or stop the running turn.",
  args: [{ name: "message", description: "The task, or a command such as /new" }],
  options: {
    session: {
      type: "string",
      short: "s",
      value: "S",
      description: "The session (default: main)",
    },
    model: { type: "string", value: "M", description: "The model for this turn" },
    channel: { type: "string", value: "C", description: "Use only this channel" },
    agent: { type: "string", value: "ID", description: "The agent to use, from agents.list" },
    detach: {
      type: "boolean",
      short: "d",
      description: "Print the turn's id without waiting for the response",
    },
  },
  examples: ['portico agent "What is on my list?"', "portico agent /new --session main"],
  async run(io) {
    const request = {
      message: io.args["message"],
      session: io.options["session"],
      model: io.options["model"],
      channel: io.options["channel"],
      agent: io.options["agent"],
    };
    const headers = { "x-portico-source": "cli" };
    const isCommand = /^\s*\/(new|reset|stop)\b/.test(request.message ?? "");
    if (io.options["detach"] === true || isCommand) {
      const response = await io.gateway.request<{ message: string; turnId?: string }>(
        "POST",
        "/agent",
        request,
        {
          headers,
        },
      );
      io.show(response, ({ message, turnId }) =>
        turnId === undefined ? message : `${message} ${turnId}`,
      );
      return;
    }
    const end = await follow(io, request, headers);
    if (end === undefined)
      throw new Error(
        "The connection to the gateway ended before the turn did. The turn may still be running: see `portico turns list`.",
      );
    if (end.state !== "done")
      throw new Error(
        `The turn ${end.turnId} is ${end.state}: ${end.error?.message ?? "no reason given"}`,
      );
    if (io.json) io.show(end, () => "");
  },
});

/**
 * Prints the response as it arrives. Returns the end of the turn; undefined if the connection to the gateway was lost.
 */
async function follow(
  io: CommandIO,
  request: unknown,
  headers: Record<string, string>,
): Promise<End | undefined> {
  const body = { ...(request as object), stream: true };
  const stream = await io.gateway.stream("POST", "/agent", body, { headers });
  const printer = new ResponsePrinter(io);
  let turnId = "";
  let end: End | undefined;
  io.progress("working …");
  for await (const { event, data } of readEvents(stream)) {
    if (event === "turn") ({ turnId } = data as { turnId: string });
    if (event === "delta") printer.add((data as { text: string }).text);
    if (event === "tool") io.progress(`called ${(data as { tool: string }).tool}`);
    if (event === "failed") printer.interject(describeFailure(data as Failure));
    if (event === "confirm") printer.interject(describeWaitingCall(turnId, data as Waiting));
    if (event === "end") end = data as End;
  }
  printer.end();
  return end;
}

/** Prints the response line by line. With `--json` it prints nothing, because the final JSON contains the response. */
class ResponsePrinter {
  readonly #io: CommandIO;
  /** The last line, which is not complete yet. */
  #line = "";

  constructor(io: CommandIO) {
    this.#io = io;
  }

  add(text: string): void {
    this.#line += text;
    const cut = this.#line.lastIndexOf("\n");
    if (cut < 0) return;
    this.#print(this.#line.slice(0, cut));
    this.#line = this.#line.slice(cut + 1);
  }

  /** Prints a message of this command between the lines of the response. */
  interject(text: string): void {
    this.end();
    this.#print(text);
  }

  end(): void {
    if (this.#line !== "") this.#print(this.#line);
    this.#line = "";
  }

  #print(text: string): void {
    if (!this.#io.json) this.#io.print(text);
  }
}

interface Waiting {
  callId: string;
  tool: string;
  arguments: string;
}

function describeWaitingCall(turnId: string, { callId, tool, arguments: args }: Waiting): string {
  return `[A call of ${tool} is waiting for your approval: ${args}\n In another terminal: portico turns confirm ${turnId} ${callId}, or portico turns deny ${turnId} ${callId}]`;
}

interface Failure {
  attempt: number;
  error: { message: string };
  retryAt?: string;
}

function describeFailure({ attempt, error, retryAt }: Failure): string {
  const next = new Date(retryAt ?? Date.now());
  const seconds = Math.max(0, Math.ceil((next.getTime() - Date.now()) / 1000));
  return `[Attempt ${attempt} failed: ${error.message.replace(/\.$/, "")}. The next attempt starts in ${seconds} s, at ${next.toLocaleTimeString()}.]`;
}

async function* readEvents(
  stream: AsyncIterable<Buffer>,
): AsyncGenerator<{ event: string; data: unknown }> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of stream) {
    text += decoder.decode(bytes, { stream: true });
    for (let cut = text.indexOf("\n\n"); cut >= 0; cut = text.indexOf("\n\n")) {
      const block = text.slice(0, cut);
      text = text.slice(cut + 2);
      const event = /^event: (.*)$/m.exec(block)?.[1];
      const data = [...block.matchAll(/^data: ?(.*)$/gm)].map((match) => match[1]).join("\n");
      if (event !== undefined && data !== "") yield { event, data: JSON.parse(data) };
    }
  }
}
