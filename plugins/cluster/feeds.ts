/** Runs feeds while another process watches them. A process that watches a feed announces that again every two seconds. */
import type { Feed, FeedWatcher } from "portico/cluster";
import type { Message, Way } from "./messages.ts";

const REPEAT_MS = 2_000;
const FORGET_MS = 5_000;
const CHECK_MS = 500;

interface FeedsOptions {
  feeds(): readonly Feed[];
  watchers(): readonly FeedWatcher[];
  post(message: Message, way: Way): void;
  wants: Wants;
}

/** `<way> <feed>` → the time until which another process watches it. */
export type Wants = Map<string, number>;

export class Feeds {
  readonly #options: FeedsOptions;
  /** The names of the watched feeds that this process has announced to the others. */
  #announced: ReadonlySet<string> = new Set();
  readonly #runningFeeds = new Map<Feed, () => unknown>();
  #timer: NodeJS.Timeout | undefined;
  #repeatedAt = 0;
  readonly #wants: Wants;

  constructor(options: FeedsOptions) {
    this.#options = options;
    this.#wants = options.wants;
  }

  receive(message: Message, way: Way): void {
    if (message.kind === "feed")
      for (const watcher of this.#options.watchers())
        if (watcher.name === message.name) watcher.take(message.data);
    if (message.kind !== "want") return;
    this.#wants.set(`${way} ${message.name}`, performance.now() + FORGET_MS);
    this.update();
    this.#startTimer();
  }

  /** Announces the feeds that are watched here since the last call. */
  announce(): void {
    const names = new Set(this.#options.watchers().map(({ name }) => name));
    for (const name of names) if (!this.#announced.has(name)) this.#postWant(name);
    this.#announced = names;
    if (names.size > 0) this.#startTimer();
  }

  /** Continues the work of the version before a reload. */
  resume(): void {
    this.announce();
    this.update();
    if (this.#wants.size > 0) this.#startTimer();
  }

  /** Starts the feeds that another process watches and ends the others; also after plugins were added or removed. */
  update(): void {
    const feeds = new Set(this.#options.feeds());
    for (const [feed, end] of this.#runningFeeds) {
      if (feeds.has(feed) && this.#activeWays(feed).length > 0) continue;
      this.#runningFeeds.delete(feed);
      void end();
    }
    for (const feed of feeds) {
      if (this.#runningFeeds.has(feed) || this.#activeWays(feed).length === 0) continue;
      const { name } = feed;
      const send = (data: unknown) => {
        for (const way of this.#activeWays(feed))
          this.#options.post({ kind: "feed", name, data }, way);
      };
      this.#runningFeeds.set(feed, feed.begin(send));
    }
  }

  close(): void {
    clearInterval(this.#timer);
    for (const end of this.#runningFeeds.values()) void end();
    this.#runningFeeds.clear();
  }

  #activeWays({ name, ofOneGateway }: Feed): Way[] {
    const ways: Way[] = ofOneGateway ? ["workers"] : ["workers", "gateways"];
    return ways.filter((way) => this.#wants.has(`${way} ${name}`));
  }

  #postWant(name: string): void {
    for (const way of ["workers", "gateways"] as const)
      this.#options.post({ kind: "want", name }, way);
  }

  /** The timer runs while a client watches, here or elsewhere. */
  #startTimer(): void {
    this.#timer ??= setInterval(() => {
      const now = performance.now();
      for (const [want, until] of this.#wants) if (until < now) this.#wants.delete(want);
      this.update();
      if (now - this.#repeatedAt >= REPEAT_MS) {
        this.#repeatedAt = now;
        for (const name of this.#announced) this.#postWant(name);
      }
      if (this.#wants.size > 0 || this.#announced.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    }, CHECK_MS).unref();
  }
}
