/** Models and channels that agents name, and that do not exist. */
import { type ConfigCheck, type ConfigCheckSubject, type ConfigFault, didYouMean } from "portico";
import { modelFault } from "portico/models";
import type { AgentList, Defaults } from "./schema.ts";

interface Agents {
  defaults?: Defaults;
  list?: AgentList;
}

const check: ConfigCheck = (subject) => {
  const { defaults, list = {} } = (subject.config["agents"] ?? {}) as Agents;
  const agents = Object.entries(list).map(([id, agent]) => ({ path: ["list", id], agent }));
  return [{ path: ["defaults"], agent: defaults ?? {} }, ...agents].flatMap(({ path, agent }) =>
    faultsOf(subject, agent, ["agents", ...path]),
  );
};
export default check;

function faultsOf(
  subject: ConfigCheckSubject,
  { model, channel }: { model?: string | undefined; channel?: string | undefined },
  path: string[],
): ConfigFault[] {
  const channels = Object.keys((subject.config["channels"] ?? {}) as object);
  const faults: ConfigFault[] = [];
  const ofModel = model === undefined ? undefined : modelFault(subject, model, [...path, "model"]);
  if (ofModel) faults.push(ofModel);
  const builtIn = subject.names("builtinChannel");
  if (channel !== undefined && builtIn && ![...channels, ...builtIn].includes(channel))
    faults.push({
      path: [...path, "channel"],
      message: `names the channel ${JSON.stringify(channel)}, which does not exist`,
      nearest: didYouMean(channel, channels),
    });
  return faults;
}
