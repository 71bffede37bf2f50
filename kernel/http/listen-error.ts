import { PorticoError } from "../errors.ts";

/** Why a port cannot be listened on, for the person who starts the gateway. */
export function listenError(error: NodeJS.ErrnoException, host: string, port: number): PorticoError {
  if (error.code === "EADDRINUSE") {
    return new PorticoError(
      "port_in_use",
      `Port ${port} on ${host} is in use. Stop what listens there, or choose another port with --port.`,
      { cause: error },
    );
  }
  return new PorticoError("cannot_listen", `Cannot listen on ${host}:${port} (${error.code ?? error.message}).`, {
    cause: error,
  });
}
