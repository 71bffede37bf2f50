/** Samples of mappings. A sample is a caught request, against which the placeholders of the mapping are checked. */
import type { PluginContext } from "portico";
import { errors } from "../errors.ts";
import type {} from "portico/cluster";
import { maskFields, maskText } from "../mask.ts";
import type { Request } from "./paths.ts";

const NAMESPACE = "webhooks.samples";
/** The feed of requests that reach another worker while a client waits at this one. */
const FEED = "webhook samples";

export interface Samples {
  /** Returns the caught sample of a mapping. */
  get(mapping: string): Promise<Request | undefined>;
  /** Passes a request to the callers that wait for one of this mapping. `fits` is true if the mapping matches it. */
  offer(mapping: string, request: Request, fits: boolean, secrets: readonly string[]): void;
  /** Keeps the next request that the mapping matches, or any. Rejects with `timeout` or the signal's reason. */
  catch(
    mapping: string,
    options: { any: boolean; signal: AbortSignal; timeoutMs: number },
  ): Promise<Request>;
  forget(mapping: string): Promise<void>;
}

interface Offer {
  mapping: string;
  sample: Request;
  fits: boolean;
}

export function createSamples(ctx: PluginContext): Samples {
  const waitersByMapping = new Map<string, Set<(offer: Offer) => void>>();
  const remoteSenders = new Set<(offer: unknown) => void>();
  ctx.add("feed", {
    name: FEED,
    begin(send) {
      remoteSenders.add(send);
      return () => void remoteSenders.delete(send);
    },
  });
  const kv = () => ctx.use("store").kv;

  return {
    get: async (mapping) => (await kv().get(NAMESPACE, mapping)) as Request | undefined,
    offer(mapping, request, fits, secrets) {
      const waiters = waitersByMapping.get(mapping);
      if (!waiters && remoteSenders.size === 0) return;
      const { body, headers, query } = request;
      const sample: Request = {
        body: JSON.parse(maskText(JSON.stringify(body) ?? "null", secrets)),
        headers: maskFields(headers, secrets),
        query: maskFields(query, secrets),
      };
      for (const accept of waiters ?? []) accept({ mapping, sample, fits });
      for (const send of remoteSenders) send({ mapping, sample, fits });
    },
    async catch(mapping, { any, signal, timeoutMs }) {
      signal.throwIfAborted();
      const waiters = waitersByMapping.get(mapping) ?? new Set();
      waitersByMapping.set(mapping, waiters);
      const undo: (() => void)[] = [];
      try {
        const sample = await new Promise<Request>((resolve, reject) => {
          const accept = (offer: Offer) => {
            if (offer.mapping === mapping && (offer.fits || any)) resolve(offer.sample);
          };
          waiters.add(accept);
          const stopWatching = ctx.add("feedWatcher", {
            name: FEED,
            take: (data) => accept(data as Offer),
          });
          const noRequest = any ? errors.nothingCaught : errors.nothingFitCaught;
          const onTimeout = () => reject(noRequest({ mapping }));
          const timer = setTimeout(onTimeout, timeoutMs);
          const onAbort = () => reject(signal.reason);
          signal.addEventListener("abort", onAbort);
          undo.push(
            () => waiters.delete(accept),
            () => void stopWatching(),
            () => clearTimeout(timer),
            () => signal.removeEventListener("abort", onAbort),
          );
        });
        await kv().set(NAMESPACE, mapping, sample);
        return sample;
      } finally {
        for (const stop of undo) stop();
        if (waiters.size === 0 && waitersByMapping.get(mapping) === waiters)
          waitersByMapping.delete(mapping);
      }
    },
    forget: async (mapping) => void (await kv().delete(NAMESPACE, mapping)),
  };
}
