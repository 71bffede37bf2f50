/** Reports models that keys name but that no channel or plugin offers. */
import type { ConfigCheck } from "portico";
import { modelPatternFault } from "portico/models";
import type { KeysConfig } from "./schema.ts";

const check: ConfigCheck = (subject) => {
  const gateway = subject.config["gateway"] as { keys?: KeysConfig } | undefined;
  return Object.entries(gateway?.keys ?? {}).flatMap(([name, { models = [] }]) =>
    models.flatMap(
      (model, index) =>
        modelPatternFault(subject, model, ["gateway", "keys", name, "models", index]) ?? [],
    ),
  );
};
export default check;
