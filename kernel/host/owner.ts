/**
 * Tracks the owner of the running code, so that stray errors (timers, detached promises) and nested events can be
 * traced to it.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Principal } from "../contract/principal.ts";

export interface OwnerContext {
  /** The owner, such as `plugin:clock` or `hook:hello`. */
  owner: string;
  /** The events being handled, outermost first. */
  chain: readonly string[];
  /** The principal on whose behalf the code runs; undefined if it is not known. */
  principal?: Principal | undefined;
}

const storage = new AsyncLocalStorage<OwnerContext>();

/** The properties of some work, without its owner. Absent ones are inherited from the caller. */
interface WorkProperties {
  /** The event that it handles. */
  event?: string | undefined;
  chain?: readonly string[] | undefined;
  principal?: Principal | undefined;
}

export function runAs<T>(owner: string, work: () => T, properties: WorkProperties = {}): T {
  const caller = currentOwner();
  const { event, chain = caller?.chain ?? [], principal = caller?.principal } = properties;
  return storage.run({ owner, chain: event ? [...chain, event] : chain, principal }, work);
}

/** The owner on whose behalf the current code runs; undefined for the kernel itself. */
export const currentOwner = (): OwnerContext | undefined => storage.getStore();
