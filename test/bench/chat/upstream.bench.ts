/** Compares our client for upstreams with undici's dispatcher. The difference is the reason for our own client. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { temporaryDir } from "../../support/temporary.ts";
import { end } from "../harness/built.ts";
import { bundle } from "../harness/bundle.ts";
import { median } from "../harness/measure.ts";
import type { Bench } from "../run.ts";

export default async function bench(): Promise<Bench> {
  const dir = temporaryDir("portico-bench-");
  const [parts, subject] = [join(dir, "parts.mjs"), join(dir, "subject.mjs")];
  await Promise.all([
    bundle("chat/chat-parts.ts", parts),
    bundle("chat/upstream-subject.ts", subject),
  ]);
  const upstream = fork(parts, ["upstream"], { execArgv: [] });
  try {
    const [{ port }] = (await once(upstream, "message")) as [{ port: number }];
    const child = fork(subject, [String(port)], { execArgv: [] });
    const [micros] = (await once(child, "message")) as [Record<"ours" | "undici", number[]>];
    const [ours, undici] = [median(micros.ours), median(micros.undici)];
    return {
      name: "upstream client",
      figures: [
        { what: "a request over our client, CPU", value: ours, unit: "µs" },
        { what: "a request over undici's dispatcher, CPU", value: undici, unit: "µs" },
        { what: "ratio", value: ours / undici, unit: "×", limit: 0.8, ratioTo: "undici" },
      ],
    };
  } finally {
    await end(upstream);
  }
}
