/** Feeds run only while somebody elsewhere watches: who does says so every two seconds. */
import type { ClusterService, Feed } from "portico/cluster";
import type { Message, Way } from "./messages.ts";

const SAY_MS = 2_000;
const FORGET_MS = 5_000;

interface FeedsOptions {
  list(): readonly Feed[];
  post(message: Message, way: Way): void;
}

export class Feeds {
  readonly #options: FeedsOptions;
  readonly #watchers = new Map<string, Set<(data: unknown) => void>>();
  /** `<way> <feed>` → until when it counts. */
  readonly #wants = new Map<string, number>();
  readonly #running = new Map<Feed, () => unknown>();
  #timer: NodeJS.Timeout | undefined;
  #saidAt = 0;

  constructor(options: FeedsOptions) {
    this.#options = options;
  }

  readonly watch: ClusterService["watch"] = (feed, take) => {
    const watchers = this.#watchers.get(feed) ?? new Set();
    this.#watchers.set(feed, watchers.add(take));
    this.#say(feed);
    this.#tick();
    return () => {
      watchers.delete(take);
      if (watchers.size === 0) this.#watchers.delete(feed);
    };
  };

  hear(message: Message, way: Way): void {
    if (message.kind === "feed")
      for (const take of this.#watchers.get(message.name) ?? []) take(message.data);
    if (message.kind !== "want") return;
    this.#wants.set(`${way} ${message.name}`, performance.now() + FORGET_MS);
    this.update();
    this.#tick();
  }

  /** Begins and ends feeds as they are wanted; also after plugins have come or gone. */
  update(): void {
    const feeds = new Set(this.#options.list());
    for (const [feed, end] of this.#running) {
      if (feeds.has(feed) && this.#ways(feed).length > 0) continue;
      this.#running.delete(feed);
      void end();
    }
    for (const feed of feeds) {
      if (this.#running.has(feed) || this.#ways(feed).length === 0) continue;
      const { name } = feed;
      const send = (data: unknown) => {
        for (const way of this.#ways(feed)) this.#options.post({ kind: "feed", name, data }, way);
      };
      this.#running.set(feed, feed.begin(send));
    }
  }

  close(): void {
    clearInterval(this.#timer);
    for (const end of this.#running.values()) void end();
    this.#running.clear();
  }

  #ways({ name, ofOneGateway }: Feed): Way[] {
    const ways: Way[] = ofOneGateway ? ["workers"] : ["workers", "gateways"];
    return ways.filter((way) => this.#wants.has(`${way} ${name}`));
  }

  #say(name: string): void {
    for (const way of ["workers", "gateways"] as const)
      this.#options.post({ kind: "want", name }, way);
  }

  /** Runs while a client watches, here or elsewhere. */
  #tick(): void {
    this.#timer ??= setInterval(() => {
      const now = performance.now();
      for (const [want, until] of this.#wants) if (until < now) this.#wants.delete(want);
      this.update();
      if (now - this.#saidAt >= SAY_MS) {
        this.#saidAt = now;
        for (const name of this.#watchers.keys()) this.#say(name);
      }
      if (this.#wants.size > 0 || this.#watchers.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    }, 500).unref();
  }
}
