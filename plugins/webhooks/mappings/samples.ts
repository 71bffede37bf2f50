/** The request that a mapping is made for: kept when somebody waits for the next one, and what its placeholders are checked against. */
import type { PluginContext } from "portico";
import { errors } from "../errors.ts";
import type {} from "portico/cluster";
import { maskFields, maskText } from "../mask.ts";
import type { Request } from "./paths.ts";

const NAMESPACE = "webhooks.samples";
/** A request that reaches another worker while a client waits here. */
const FEED = "webhook samples";

export interface Samples {
  /** The kept sample of a mapping. */
  of(mapping: string): Promise<Request | undefined>;
  /** Hands a request to the caller that waits for one of this mapping; `fits`: it is what the mapping is made for. */
  offer(mapping: string, request: Request, fits: boolean, secrets: readonly string[]): void;
  /** Keeps the next request of a mapping that fits, or any. Throws `timeout`, or with the signal. */
  catch(
    mapping: string,
    wanted: { any: boolean; signal: AbortSignal; timeoutMs: number },
  ): Promise<Request>;
  forget(mapping: string): Promise<void>;
}

interface Offered {
  mapping: string;
  sample: Request;
  fits: boolean;
}

export function createSamples(ctx: PluginContext): Samples {
  const waiting = new Map<string, Set<(offered: Offered) => void>>();
  const elsewhere = new Set<(offered: unknown) => void>();
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
    offer(mapping, request, fits, secrets) {
      const waiters = waiting.get(mapping);
      if (!waiters && elsewhere.size === 0) return;
      const { body, headers, query } = request;
      const sample: Request = {
        body: JSON.parse(maskText(JSON.stringify(body) ?? "null", secrets)),
        headers: maskFields(headers, secrets),
        query: maskFields(query, secrets),
      };
      for (const offer of waiters ?? []) offer({ mapping, sample, fits });
      for (const send of elsewhere) send({ mapping, sample, fits });
    },
    async catch(mapping, { any, signal, timeoutMs }) {
      const waiters = waiting.get(mapping) ?? new Set();
      waiting.set(mapping, waiters);
      const undo: (() => void)[] = [];
      try {
        const sample = await new Promise<Request>((resolve, reject) => {
          const offer = (offered: Offered) => {
            if (offered.mapping === mapping && (offered.fits || any)) resolve(offered.sample);
          };
          waiters.add(offer);
          const stopWatching = ctx.add("feedWatcher", {
            name: FEED,
            take: (offered) => offer(offered as Offered),
          });
          const noRequest = any ? errors.nothingCaught : errors.nothingFitCaught;
          const late = () => reject(noRequest({ mapping }));
          const timer = setTimeout(late, timeoutMs);
          const left = () => reject(signal.reason);
          signal.addEventListener("abort", left);
          undo.push(
            () => waiters.delete(offer),
            () => void stopWatching(),
            () => clearTimeout(timer),
            () => signal.removeEventListener("abort", left),
          );
        });
        await kv().set(NAMESPACE, mapping, sample);
        return sample;
      } finally {
        for (const stop of undo) stop();
        if (waiters.size === 0 && waiting.get(mapping) === waiters) waiting.delete(mapping);
      }
    },
    forget: async (mapping) => void (await kv().delete(NAMESPACE, mapping)),
  };
}
