/** The loopback servers that plugins open: one of each name, shared by two versions of a plugin while it is reloaded. */
import { PorticoError } from "../errors.ts";
import type { Dispose, Mount, ServerOptions, ServerRoutes } from "../types.ts";
import type { HttpServer } from "./server.ts";

export interface ServerPoolOptions {
  create(options: ServerOptions): HttpServer;
  /** 0: any free port. */
  portFor(options: ServerOptions): number;
  /** False in a worker that is not the first: a port is there once. */
  listens: boolean;
}

/** A server that is open, for one holder. */
export interface OpenServer {
  server: Mount & { readonly port: number; readonly url: string };
  /** Closes it once nobody holds it any more. */
  release: Dispose;
}

interface Entry {
  server: HttpServer;
  holders: number;
  ready: Promise<unknown>;
}

export function createServerPool({ create, portFor, listens }: ServerPoolOptions) {
  const entries = new Map<string, Entry>();
  const urlOf = ({ server }: Entry) => `http://127.0.0.1:${server.port}`;

  function enter(options: ServerOptions): Entry {
    const known = entries.get(options.name);
    if (known && options.port !== undefined)
      throw new PorticoError("port_in_use", `The server ${options.name} is open already.`);
    if (known) return known;
    const server = create(options);
    const ready = listens ? server.listen(portFor(options), "127.0.0.1") : Promise.resolve();
    const entry = { server, holders: 0, ready };
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
    urls: (): Record<string, string> =>
      !listens ? {} : Object.fromEntries([...entries].map(([name, entry]) => [name, urlOf(entry)])),
    routes: (): ServerRoutes[] =>
      [...entries].map(([server, entry]) => ({ server, url: urlOf(entry), routes: entry.server.routes() })),
    ports: () => [...entries.values()].map(({ server }) => server.port),
    drainAll: (graceMs: number): Promise<unknown> =>
      Promise.all([...entries.values()].map(({ server }) => server.drain(graceMs))),
  };
}
