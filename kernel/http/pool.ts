/** The loopback servers that plugins open: one of each name, shared by two versions of a plugin while it is reloaded. */
import { errors } from "./errors.ts";
import type { Dispose, Mount, ServerOptions, ServerRoutes } from "../contract/index.ts";
import type { HttpServer } from "./server.ts";

/** One holder's handle of an open server. */
export interface OpenServer {
  server: Mount & { readonly port: number; readonly url: string };
  /** Gives up the handle. The last holder's call closes the server. */
  release: Dispose;
}

interface Entry {
  server: HttpServer;
  /** Resolves when the server listens, or at once in a worker that does not: only one worker opens the port. */
  ready: Promise<unknown>;
  holders: number;
}

export function createServerPool(
  create: (options: ServerOptions) => Pick<Entry, "server" | "ready">,
) {
  const entries = new Map<string, Entry>();
  const urlOf = ({ server }: Entry) => `http://127.0.0.1:${server.port}`;

  function findOrCreate(options: ServerOptions): Entry {
    const existing = entries.get(options.name);
    if (existing && options.port !== undefined) throw errors.serverOpen({ name: options.name });
    if (existing) return existing;
    const entry = { ...create(options), holders: 0 };
    entries.set(options.name, entry);
    return entry;
  }

  async function release(name: string, entry: Entry): Promise<void> {
    if (--entry.holders > 0) return;
    if (entries.get(name) === entry) entries.delete(name);
    await entry.server.close(0);
  }

  return {
    async open(options: ServerOptions): Promise<OpenServer> {
      const entry = findOrCreate(options);
      entry.holders++;
      try {
        await entry.ready;
      } catch (error) {
        await release(options.name, entry);
        throw error;
      }
      const server = Object.assign(entry.server, { url: urlOf(entry) });
      return { server, release: () => release(options.name, entry) };
    },
    /** The URLs of the servers that listen, by name. */
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
