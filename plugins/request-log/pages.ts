/** Reads pages of requests, and single requests, from all workers of the gateway. */
import type { Workers } from "portico";
import { errors } from "./errors.ts";
import type { Recorder } from "./recorder.ts";
import { comparePlaces, matches, type Place, placeText, type RequestsQuery } from "./query.ts";
import { detailsOf, type RequestDetails, type RequestView, viewOf } from "./view.ts";

const PAGE_TOPIC = "requests";
const SINGLE_TOPIC = "request";

export interface RequestPage {
  /** Requests, newest first. */
  requests: RequestView[];
  /** `before` of the next page; absent on the last one. */
  next?: string | undefined;
}

interface Placed<T> {
  place: Place;
  view: T;
}

export interface Pages {
  page(query: RequestsQuery): Promise<RequestPage>;
  /** Returns the newest request with that id. Throws `not_found`. */
  newestWithId(id: string): Promise<RequestDetails>;
  close(): void;
}

export function createPages(recorder: Recorder, workers: Workers | undefined): Pages {
  const worker = workers?.index ?? 0;

  function ownPage(query: RequestsQuery): Placed<RequestView>[] {
    const placed: Placed<RequestView>[] = [];
    for (const entry of recorder.newest()) {
      const place = { at: entry.endedAt, worker, number: entry.number };
      if (query.before !== undefined && comparePlaces(place, query.before) <= 0) continue;
      if (!matches(query, entry)) continue;
      placed.push({ place, view: viewOf(entry) });
      // One entry more than the page holds shows that another page follows.
      if (placed.length > query.limit) break;
    }
    return placed;
  }

  function ownNewest(id: string): Placed<RequestDetails> | undefined {
    for (const entry of recorder.newest())
      if (entry.requestId === id)
        return {
          place: { at: entry.endedAt, worker, number: entry.number },
          view: detailsOf(entry),
        };
    return undefined;
  }

  const undos = workers
    ? [workers.on(PAGE_TOPIC, ownPage), workers.on(SINGLE_TOPIC, ownNewest)]
    : [];

  return {
    async page(query) {
      const others = (await workers?.askAll<Placed<RequestView>[]>(PAGE_TOPIC, query)) ?? [];
      const all = [ownPage(query), ...others].flat().sort(byPlace);
      const page = all.slice(0, query.limit);
      const last = all.length > query.limit ? page.at(-1) : undefined;
      return {
        requests: page.map(({ view }) => view),
        next: last && placeText(last.place),
      };
    },
    async newestWithId(id) {
      const others =
        (await workers?.askAll<Placed<RequestDetails> | undefined>(SINGLE_TOPIC, id)) ?? [];
      const [newest] = [ownNewest(id), ...others]
        .filter((details) => details !== undefined)
        .sort(byPlace);
      if (newest !== undefined) return newest.view;
      throw errors.unknownRequest();
    },
    close() {
      for (const undo of undos) void undo();
    },
  };
}

function byPlace(a: { place: Place }, b: { place: Place }): number {
  return comparePlaces(a.place, b.place);
}
