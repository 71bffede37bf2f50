/** All errors with which a request to another worker fails. */
import { PorticoError } from "portico";

export const errors = PorticoError.table({
  noAnswer: { code: "timeout", message: "Worker {worker} did not respond in time." },
  unknownTopic: {
    code: "service_unavailable",
    message: "Worker {worker} is not ready for {topic} yet. Try again in a moment.",
  },
  notRunning: {
    code: "service_unavailable",
    message: "Worker {worker} is not running. Try again in a moment.",
  },
});
