/** The request that a mapping is made for: kept when somebody waits for the next one, and what its placeholders are checked against. */
import { PorticoError, type PluginContext } from "portico";
import type {} from "portico/cluster";
import { maskFields, maskText } from "../log/mask.ts";
import type { Request } from "./paths.ts";

const NAMESPACE = "webhooks.samples";
/** What comes to another worker while somebody waits here. */
const FEED = "webhook samples";

export interface Samples {
  /** The kept sample of a mapping. */
  of(mapping: string): Promise<Request | undefined>;
  /** Hands a request to whoever waits for one of this mapping. */
  offer(mapping: string, request: Request, secrets: readonly string[]): void;
  /** Keeps the next request of a mapping. Throws `timeout`, or with the signal. */
  catch(mapping: string, signal: AbortSignal, timeoutMs: number): Promise<Request>;
  forget(mapping: string): Promise<void>;
}

export function createSamples(ctx: PluginContext): Samples {
  const waiting = new Map<string, Set<(sample: Request) => void>>();
  const elsewhere = new Set<(found: unknown) => void>();
  ctx.add("feed", {
    name: FEED,
    begin(send) {
      elsewhere.add(send);
      return () => void elsewhere.delete(send);
    },
  });
  const kv = () => ctx.use("store").kv;

  return {
    of: async (mapping) => (await kv().get(NAMESPACE, mapping)) as Request | undefined,
    offer(mapping, request, secrets) {
      const waiters = waiting.get(mapping);
      if (!waiters && elsewhere.size === 0) return;
      const { body, headers, query } = request;
      waiting.delete(mapping);
      const sample: Request = {
        body: JSON.parse(maskText(JSON.stringify(body) ?? "null", secrets)),
        headers: maskFields(headers, secrets),
        query: maskFields(query, secrets),
      };
      for (const take of waiters ?? []) take(sample);
      for (const send of elsewhere) send({ mapping, sample });
    },
    async catch(mapping, signal, timeoutMs) {
      const waiters = waiting.get(mapping) ?? new Set();
      waiting.set(mapping, waiters);
      let take = (_: Request): void => {};
      const undo: (() => void)[] = [() => waiters.delete(take)];
      try {
        const sample = await new Promise<Request>((resolve, reject) => {
          take = resolve;
          waiters.add(take);
          const found = ctx.find("cluster")?.watch(FEED, (one) => {
            const { mapping: of, sample: other } = one as { mapping: string; sample: Request };
            if (of === mapping) resolve(other);
          });
          const timer = setTimeout(
            () => reject(new PorticoError("timeout", `No request came for the mapping ${mapping}.`)),
            timeoutMs,
          );
          const left = () => reject(signal.reason);
          signal.addEventListener("abort", left);
          undo.push(
            () => found?.(),
            () => clearTimeout(timer),
            () => signal.removeEventListener("abort", left),
          );
        });
        await kv().set(NAMESPACE, mapping, sample);
        return sample;
      } finally {
        for (const one of undo) one();
        if (waiters.size === 0 && waiting.get(mapping) === waiters) waiting.delete(mapping);
      }
    },
    forget: async (mapping) => void (await kv().delete(NAMESPACE, mapping)),
  };
}
