/** All errors of the plugin `store`. */
import { PorticoError } from "portico";

const UNAVAILABLE = { code: "store_unavailable", status: 503 } as const;
const CONFIG = { code: "config_error" } as const;

export const errors = PorticoError.table({
  // the store is not available
  unavailable: { ...UNAVAILABLE, message: "{problem}" },
  postgresUnavailable: {
    ...UNAVAILABLE,
    message:
      "The store (PostgreSQL) is not available: {problem}. Nothing was accepted. Try again later.",
  },
  maintenanceFailed: {
    ...UNAVAILABLE,
    message: "{task}: {reason}. The store itself is unchanged.",
  },

  // configuration
  badUrl: { ...CONFIG, message: "store.url cannot be used: {reason}." },
  tlsTwice: {
    ...CONFIG,
    message:
      "store.url and store.tls both configure TLS. Remove the ssl… parameters from store.url, or remove store.tls.",
  },
  driverMissing: {
    ...CONFIG,
    message: "store.url names PostgreSQL, which needs the package pg: npm install pg",
  },

  // records
  keyTooLong: {
    code: "invalid_request_error",
    message: "The key {key}… and its namespace have {bytes} bytes. At most {max} are allowed.",
  },
  ambiguousId: {
    code: "conflict",
    message: "{count} ids begin or end with {part}. Pass more characters of the id.",
  },

  // copies and moves
  copyExists: {
    code: "conflict",
    message: "A file with this name already exists. Choose another name for the copy.",
  },
  notMoved: { code: "invalid_request_error", message: "The store was not moved: {reason}." },
  moveFailed: {
    ...UNAVAILABLE,
    message: "The store was not moved, because {option} cannot be used: {problem}.",
  },
  copyDiffers: {
    code: "conflict",
    message:
      "{table}: the copy ({copied} rows) differs from the source ({expected} rows). Stop every gateway of the source, empty the target, and start again.",
  },
  targetNotEmpty: {
    code: "conflict",
    message:
      "The target already contains a store or an incomplete copy of one. Choose an empty target.",
  },
});
