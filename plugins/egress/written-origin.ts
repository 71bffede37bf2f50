import { isPorticoError } from "portico";
import { createGuard } from "./policy.ts";

const publicOnly = createGuard({ policy: () => ({ allowPrivate: false }), ownPorts: () => [] });

/**
 * For `allowedOrigins` of a policy that allows public addresses only: the origin of an address that is private as it
 * stands there (`http://127.0.0.1:8080`, `http://nas/`), since whoever wrote it down meant it. Nothing for any other: a
 * public name that leads to a private address was not meant so. Only for what the owner wrote.
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
