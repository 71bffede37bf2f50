import { PorticoError } from "portico";

/** The codes of what keeps a delivery from being sent, with their statuses. */
export const errors = {
  delivery_secret_gone: 409,
  delivery_key_unknown: 409,
} as const;

export const deliveryError = (code: keyof typeof errors, message: string, cause?: unknown) =>
  new PorticoError(code, message, { status: errors[code], cause });
