import type { PorticoError } from "../errors.ts";
import { errors } from "./errors.ts";

/** Translates an error of `listen` into one that helps the person who starts the gateway. */
export function listenError(
  error: NodeJS.ErrnoException,
  host: string,
  port: number,
): PorticoError {
  if (error.code === "EADDRINUSE") return errors.portInUse({ host, port }, { cause: error });
  const reason = error.code ?? error.message;
  return errors.cannotListen({ host, port, reason }, { cause: error });
}
