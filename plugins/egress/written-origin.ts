import { isPorticoError } from "portico";
import { createGuard } from "./policy.ts";

const publicOnly = createGuard({ policy: () => ({ allowPrivate: false }), ownPorts: () => [] });

/**
 * Returns `allowedOrigins` for a policy that allows public addresses only: the origin of a URL that is visibly private
 * (`http://127.0.0.1:8080`, `http://nas/`), since its author intended that. The list is empty for any other URL, since no
 * one intends a public name to resolve to a private address. Use it only for URLs that the owner wrote.
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
