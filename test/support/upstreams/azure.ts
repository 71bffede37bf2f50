import type { Dialect } from "./dialect.ts";
import { need, sse } from "./dialect.ts";
import { openai, readOpenAi } from "./openai.ts";

/** Events about filters have no choices, no id and no model. */
const filters = sse({
  choices: [],
  created: 0,
  id: "",
  model: "",
  object: "",
  prompt_filter_results: [
    { prompt_index: 0, content_filter_results: { hate: { filtered: false, severity: "safe" } } },
  ],
});

export const azure: Dialect = {
  ...openai,
  name: "azure",
  model: "my-deployment",
  channel: (root) => ({
    provider: "azure",
    baseUrl: root,
    apiKey: "secret",
    apiVersion: "2024-10-21",
  }),
  read(seen) {
    const path = "/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21";
    need(seen.path === path, `wrong path ${seen.path}`);
    need(seen.headers["api-key"] === "secret", "wrong key");
    need(seen.headers.authorization === undefined, "a key too many");
    return readOpenAi(seen);
  },
  stream: (script) => [filters, ...openai.stream(script)],
};
