/** Who changes the configuration, and from where: kept with every version of the file. */
import { AsyncLocalStorage } from "node:async_hooks";

/** `file`: an editor or another program wrote the file; `gateway`: the gateway itself, such as a generated token. */
export type ChangeDoor = "console" | "command line" | "http" | "file" | "gateway";

export interface ChangeOrigin {
  /** `owner`, or another principal once routes know more of them. */
  principal: string;
  via: ChangeDoor;
  /** The caller's address, for changes over HTTP. */
  address?: string;
}

const storage = new AsyncLocalStorage<ChangeOrigin>();
const GATEWAY: ChangeOrigin = { principal: "owner", via: "gateway" };
export const FILE_ORIGIN: ChangeOrigin = { principal: "owner", via: "file" };

/** Attributes every change that `work` makes, however deep below, to `origin`. */
export function changeAs<T>(origin: ChangeOrigin, work: () => T): T {
  return storage.run(origin, work);
}

/** The origin of the change that is being made; the gateway itself where nobody asked for it. */
export const currentOrigin = (): ChangeOrigin => storage.getStore() ?? GATEWAY;
