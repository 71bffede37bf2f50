/** What the owner should know of the configuration: what is left out of it, and what waits for the next start. */
import { type Management, problemText } from "portico";

export async function configNotices(config: Management["config"]): Promise<string[]> {
  const leftOut = (await config.leftOut()).map((problem) => `${problemText(problem)}.`);
  const waiting = config
    .awaitingStart()
    .map((key) => `${key} was changed and takes effect at the next start.`);
  return [...leftOut, ...waiting];
}
