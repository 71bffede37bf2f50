/** Notices about the configuration: the parts that are ignored, and the changes that wait for the next start. */
import { type Management, problemText } from "portico";

export async function configNotices(config: Management["config"]): Promise<string[]> {
  const leftOut = (await config.leftOut()).map((problem) => `${problemText(problem)}.`);
  const waiting = config
    .awaitingStart()
    .map((key) => `${key} was changed and takes effect at the next start of the gateway.`);
  return [...leftOut, ...waiting];
}
