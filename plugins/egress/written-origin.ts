import { isPorticoError } from "portico";
import { createGuard } from "./policy.ts";

const publicOnly = createGuard({ policy: () => ({ allowPrivate: false }), ownPorts: () => [] });

/**
 * For `allowedOrigins` of a policy that allows public addresses only: the origin of an address that is private as it
 * written (`http://127.0.0.1:8080`, `http://nas/`), since its author intended it. `undefined` for any other: nobody
 * intends a public name to resolve to a private address. Only for addresses that the owner wrote.
 */
export function writtenOrigins(url: string): string[] {
  try {
    publicOnly.precheck(url);
    return [];
  } catch (error) {
    const reason = isPorticoError(error) ? error.details?.["reason"] : undefined;
    return reason === "private_address" || reason === "private_name" ? [new URL(url).origin] : [];
  }
}
