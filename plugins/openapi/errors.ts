/** Every error of the plugin `openapi`. */
import { PorticoError } from "portico";

export const errors = PorticoError.table({
  unknownServer: {
    code: "not_found",
<<<<<<< HEAD
    message: "There is no server {server}. There are: {names}.",
=======
    message: "There is no server {server}. Use one of {servers}.",
>>>>>>> 2c9056ac (Errors: management, workers, usage, the OpenAI routes, responses, cron, schedules and the providers' credentials have tables in plain English; entries of schedules are a class of small methods)
  },
});
