/** Declares the error codes of the face `portico/egress`, and sets the timeout for connection attempts. */
import { setDefaultAutoSelectFamilyAttemptTimeout } from "node:net";
import { definePlugin } from "portico";
import { errors } from "./errors.ts";

/**
 * The time after which a connection attempt to one of a host's addresses is abandoned for the next one, for every
 * connection of the gateway. Node's default is 250 ms: if the event loop is blocked that long during an attempt, only the
 * other addresses remain, on which often no server listens. RFC 8305 (section 5) allows up to 2 s. A longer time delays
 * connections to hosts whose first address is unreachable.
 */
const ATTEMPT_TIMEOUT_MS = 1_000;

export default definePlugin({
  name: "egress",
  description: "Decides which addresses the gateway and its browsers may reach",
  errors,
  setup() {
    setDefaultAutoSelectFamilyAttemptTimeout(ATTEMPT_TIMEOUT_MS);
  },
});
