/** Declares the error codes of the face `portico/egress`, which does the work. */
import { setDefaultAutoSelectFamilyAttemptTimeout } from "node:net";
import { definePlugin } from "portico";
import { errors } from "./errors.ts";

/**
 * How long one of a host's addresses may take before the next one is tried, for every connection of the gateway. Node
 * gives up the first for good after 250 ms: a gateway that stands still for so long while it connects would be left with
 * the others, where often nobody listens. RFC 8305 (section 5) allows 2 s; who has addresses that lead nowhere waits it out.
 */
const ADDRESS_MS = 1_000;

export default definePlugin({
  name: "egress",
  description: "Decides which addresses the gateway may reach: the policy for fetches and browsers",
  errors,
  setup() {
    setDefaultAutoSelectFamilyAttemptTimeout(ADDRESS_MS);
  },
});
