/** The loopback servers that plugins open: one of each name, shared by two versions of a plugin while it is reloaded. */
import { errors } from "./errors.ts";
import type { Dispose, Mount, ServerOptions, ServerRoutes } from "../contract/index.ts";
import type { HttpServer } from "./server.ts";

/** A server that is open, for one holder. */
export interface OpenServer {
  server: Mount & { readonly port: number; readonly url: string };
  /** Closes it once no user of it is left. */
  release: Dispose;
}

interface Entry {
  server: HttpServer;
  /** Resolves when it listens, or at once where it does not: a port is there once, and not in every worker. */
  ready: Promise<unknown>;
  holders: number;
}

export function createServerPool(
  create: (options: ServerOptions) => Pick<Entry, "server" | "ready">,
) {
  const entries = new Map<string, Entry>();
  const urlOf = ({ server }: Entry) => `http://127.0.0.1:${server.port}`;

  function enter(options: ServerOptions): Entry {
    const known = entries.get(options.name);
    if (known && options.port !== undefined) throw errors.serverOpen({ name: options.name });
    if (known) return known;
    const entry = { ...create(options), holders: 0 };
    entries.set(options.name, entry);
    return entry;
  }

  async function leave(name: string, entry: Entry): Promise<void> {
    if (--entry.holders > 0) return;
    if (entries.get(name) === entry) entries.delete(name);
    await entry.server.close(0);
  }

  return {
    async open(options: ServerOptions): Promise<OpenServer> {
      const entry = enter(options);
      entry.holders++;
      try {
        await entry.ready;
      } catch (error) {
        await leave(options.name, entry);
        throw error;
      }
      const server = Object.assign(entry.server, { url: urlOf(entry) });
      return { server, release: () => leave(options.name, entry) };
    },
    /** Of those that listen. */
    urls(): Record<string, string> {
      const urls: Record<string, string> = {};
      for (const [name, entry] of entries) if (entry.server.port) urls[name] = urlOf(entry);
      return urls;
    },
    routes: (): ServerRoutes[] =>
      [...entries].map(([server, entry]) => ({
        server,
        url: urlOf(entry),
        routes: entry.server.routes(),
      })),
    ports: () => [...entries.values()].map(({ server }) => server.port),
    drainAll: (graceMs: number): Promise<unknown> =>
      Promise.all([...entries.values()].map(({ server }) => server.drain(graceMs))),
  };
}
