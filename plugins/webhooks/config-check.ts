/** Finds invalid mappings and keys: names, templates, patterns, and models that no channel offers. */
import {
  type ConfigCheck,
  type ConfigCheckSubject,
  type ConfigFault,
  isPorticoError,
  PorticoError,
} from "portico";
import { modelPatternFault, targetFaults } from "portico/models";
import { definitionFault } from "portico/strings";
import type { KeyConfig, MappingConfig, WebhooksConfig } from "./schema.ts";
import { readMapping, readSettings, toRequest } from "./settings.ts";

const check: ConfigCheck = async (subject) => {
  const webhooks = subject.config["webhooks"] as WebhooksConfig | undefined;
  if (!webhooks) return [];
  const mappings = Object.entries(webhooks.mappings).map(([name, mapping]) =>
    findMappingFaults(subject, webhooks, name, mapping),
  );
  const keys = Object.entries(webhooks.keys).flatMap(([name, key]) =>
    findKeyFaults(subject, name, key),
  );
  return [
    ...(await findCredentialFaults(webhooks)),
    ...keys,
    ...(await Promise.all(mappings)).flat(),
  ];
};
export default check;

/** Finds two credentials with the same token, which the gateway could not distinguish. */
async function findCredentialFaults(webhooks: WebhooksConfig): Promise<ConfigFault[]> {
  try {
    await readSettings({ ...webhooks, mappings: {} }, { isKnown: () => true });
    return [];
  } catch (error) {
    return [locateFault(error, ["webhooks"])];
  }
}

async function findMappingFaults(
  subject: ConfigCheckSubject,
  { rateLimit }: WebhooksConfig,
  name: string,
  mapping: MappingConfig,
): Promise<ConfigFault[]> {
  if (mapping.enabled === false) return [];
  const path = ["webhooks", "mappings", name];
  const faults: ConfigFault[] = [];
  try {
    const sample = mapping.sample && toRequest(mapping.sample);
    await readMapping(name, mapping, rateLimit, { sample });
  } catch (error) {
    faults.push(locateFault(error, path));
  }
  return [...faults, ...targetFaults(subject, mapping, path)];
}

function findKeyFaults(
  subject: ConfigCheckSubject,
  name: string,
  { models = [] }: KeyConfig,
): ConfigFault[] {
  return models.flatMap(
    (model, index) =>
      modelPatternFault(subject, model, ["webhooks", "keys", name, "models", index]) ?? [],
  );
}

/** Locates an error of the settings, which names the whole key in `param` and at the beginning of its message. */
function locateFault(error: unknown, path: string[]): ConfigFault {
  if (!isPorticoError(error) || error.param === undefined) return definitionFault(error, path);
  const { param, message } = error;
  const base = path.join(".");
  const below = param.startsWith(`${base}.`) ? param.slice(base.length + 1) : undefined;
  const reason = message.startsWith(param) ? message.slice(param.length) : ` ${message}`;
  const located = new PorticoError("invalid_request_error", reason, below ? { param: below } : {});
  return { ...definitionFault(located, path), message: reason.replace(/^:? |\.$/g, "") };
}
