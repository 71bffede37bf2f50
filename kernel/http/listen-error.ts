import { PorticoError } from "../errors.ts";

/** Why a port cannot be listened on, for the person who starts the gateway. */
export function listenError(
  error: NodeJS.ErrnoException,
  host: string,
  port: number,
): PorticoError {
  const inUse = error.code === "EADDRINUSE";
  const message = inUse
    ? `Port ${port} on ${host} is in use. Stop what listens there, or choose another port with --port.`
    : `Cannot listen on ${host}:${port} (${error.code ?? error.message}).`;
  return new PorticoError(inUse ? "port_in_use" : "cannot_listen", message, { cause: error });
}
