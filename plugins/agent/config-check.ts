/** Reports models and channels that agents refer to but that do not exist. */
import type { ConfigCheck } from "portico";
import { targetFaults } from "portico/models";
import type { AgentList, Defaults } from "./schema.ts";

interface Agents {
  defaults?: Defaults;
  list?: AgentList;
}

const check: ConfigCheck = (subject) => {
  const { defaults, list = {} } = (subject.config["agents"] ?? {}) as Agents;
  const agents = Object.entries(list).map(([id, agent]) => ({ path: ["list", id], agent }));
  return [{ path: ["defaults"], agent: defaults ?? {} }, ...agents].flatMap(({ path, agent }) =>
    targetFaults(subject, agent, ["agents", ...path]),
  );
};
export default check;
