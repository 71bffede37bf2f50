/** Checks the channels for `portico doctor`: requests a list of models and one word from each. */
import type { Finding, HealthCheck } from "portico/command-line";
import type { ChannelEntry, ChannelTest } from "./channel-routes.ts";

const check: HealthCheck = async ({ config, gateway }) => {
  if (Object.keys((config["channels"] ?? {}) as object).length === 0) {
    const remedy =
      'Run `portico config set channels.main \'{ provider: "openai", apiKey: "…" }\'`.';
    return [
      {
        level: "warning",
        message: "no channel is configured, so only the built-in models respond",
        remedy,
      },
    ];
  }
  if (gateway === undefined)
    return [
      {
        level: "warning",
        message: "the channels were not tested, because no gateway is running",
        remedy: "Run `portico start`.",
      },
    ];
  const { channels } = await gateway.request<{ channels: ChannelEntry[] }>("GET", "/channels");
  const configured = channels.filter(({ builtin, state }) => !builtin && state !== "disabled");
  const testChannel = async ({ name, problem }: ChannelEntry): Promise<Finding> => {
    const remedy = `Correct channels.${name}, then run \`portico channels test ${name}\`.`;
    if (problem) return { level: "error", message: `${name}: ${problem}`, remedy };
    const path = `/channels/${encodeURIComponent(name)}/test`;
    const result = await gateway.request<ChannelTest>("POST", path, {}, { timeoutMs: 60_000 });
    const { ok, model, ms, error, unnamed } = result;
    if (unnamed) {
      const namingRemedy = `Run \`portico channels test ${name} --model NAME\`, or list a model in channels.${name}.models.`;
      return {
        level: "warning",
        message: `${name}: no model was tested. ${error}`,
        remedy: namingRemedy,
      };
    }
    if (!ok) return { level: "error", message: `${name}: ${error ?? "it does not work"}`, remedy };
    return { level: "ok", message: `${name}: ${model} responds in ${ms} ms` };
  };
  return Promise.all(configured.map(testChannel));
};
export default check;
