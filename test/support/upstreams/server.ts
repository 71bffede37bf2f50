/** A fake provider on a real socket, which uses the provider's real format and reacts as the test requests. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Dialect, Problem, Script, SeenRequest, View } from "./dialect.ts";

export type Step =
  | { answer: Script }
  | { refuse: Problem }
  /** Sends status 200 and nothing more, or nothing at all. */
  | { silent: "after headers" | "at once" }
  /** Never ends the response. */
  | { endless: string }
  /** Sends a stream that fails: cut inside the event that finishes it, cut after that event, or with an error event. */
  | { broken: "cut" | "after finish" | "error event"; script: Script };

export interface FakeProvider {
  root: string;
  /** Each chat request in the common form. */
  views: View[];
  /** Each chat request in its original form. */
  seen: SeenRequest[];
  /** The reasons for which it refused requests. */
  refusals: string[];
  /** The reaction to the next requests. */
  next: Step;
  /** Resolves when the other side has aborted the current exchange. */
  aborted: Promise<void>;
  close(): Promise<void>;
}

/** Starts a fake provider. It answers a request that the real one would refuse with 418 and the reason. */
export async function startProvider(dialect: Dialect): Promise<FakeProvider> {
  const server = createServer((req, res) => {
    const parts: Buffer[] = [];
    req.on("data", (part: Buffer) => parts.push(part));
    req.on("end", () => {
      // A request for the list of models, which this provider does not have.
      if (req.method === "GET") return res.writeHead(404).end();
      const tokenCount = dialect.countTokens?.(req.url ?? "");
      if (tokenCount !== undefined) {
        res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(tokenCount));
        return;
      }
      fake.aborted = new Promise((resolve) =>
        res.once("close", () => !res.writableFinished && resolve()),
      );
      let view: View;
      try {
        const body = JSON.parse(Buffer.concat(parts).toString("utf8"));
        const request = {
          method: req.method ?? "",
          path: req.url ?? "",
          headers: req.headers,
          body,
        };
        fake.seen.push(request);
        view = dialect.read(request);
        fake.views.push(view);
      } catch (error) {
        fake.refusals.push((error as Error).message);
        res
          .writeHead(418, { "content-type": "text/plain" })
          .end(`refused by the fake: ${(error as Error).message}`);
        return;
      }
      perform(dialect, fake.next, view.stream, res);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const fake: FakeProvider = {
    root: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    views: [],
    seen: [],
    refusals: [],
    next: { answer: { text: ["Hello"] } },
    aborted: Promise.resolve(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return fake;
}

function perform(dialect: Dialect, step: Step, stream: boolean, res: ServerResponse): void {
  if ("refuse" in step) {
    const { status, body, headers } = dialect.refusal(step.refuse);
    res
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(JSON.stringify(body));
    return;
  }
  if ("silent" in step && step.silent === "at once") return;
  res.writeHead(200, { "content-type": stream ? dialect.streamType : dialect.wholeType });
  if ("endless" in step) {
    // Sent together with the head, because a delay of this process in between would count as silence of the stream.
    res.write(
      Buffer.concat(
        dialect.stream({ text: [step.endless, step.endless] }).slice(0, -dialect.closing),
      ),
    );
    return;
  }
  res.flushHeaders();
  if ("silent" in step) return;
  if ("answer" in step) {
    if (!stream) res.end(dialect.whole(step.answer));
    else {
      for (const event of dialect.stream(step.answer)) res.write(event);
      res.end();
    }
    return;
  }
  sendBrokenStream(dialect, step, res);
}

function sendBrokenStream(
  dialect: Dialect,
  step: Extract<Step, { broken: unknown }>,
  res: ServerResponse,
): void {
  const events = dialect.stream(step.script);
  const body = events.slice(0, -dialect.closing);
  if (step.broken === "error event") {
    for (const event of [...body, dialect.errorEvent("it broke")]) res.write(event);
    res.end();
    return;
  }
  const finish = events[events.length - dialect.closing] ?? Buffer.alloc(0);
  const pieces = step.broken === "cut" ? [...body, finish.subarray(0, 9)] : [...body, finish];
  res.write(Buffer.concat(pieces), () => setImmediate(() => res.destroy()));
}
