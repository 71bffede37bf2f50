/** The alert rules and the Grafana board ask for metrics that there are. */
import * as assert from "uvu/assert";
import { parse } from "yaml";
import { startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { readExample } from "./example.ts";

const test = suite("alert rules and board");

/** The metrics that an expression names; those of a histogram by the histogram's own name. */
function metricsIn(expr: string): string[] {
  const names = expr.match(/\b(?:portico|process|nodejs)_\w+/g) ?? [];
  return names.map((name) => name.replace(/_(?:bucket|sum|count)$/, ""));
}

test("each rule and panel queries metrics that GET /metrics has", async () => {
  const rules: { alert: string; expr: string; annotations: { summary: string } }[] = parse(
    readExample("alerts.yml"),
  ).groups.flatMap(({ rules }: { rules: object[] }) => rules);
  const { panels } = JSON.parse(readExample("grafana.json")) as {
    panels: { title: string; targets: { expr: string }[] }[];
  };
  assert.ok(rules.length > 10);
  assert.ok(panels.length > 10);
  const queries = [
    ...rules.map(({ alert, expr }) => ({ where: alert, expr })),
    ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ where: title, expr }))),
  ];
  const gateway = await startGateway();
  try {
    const text = await (await gateway.request("GET", "/metrics")).text();
    const known = new Set(Array.from(text.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name));
    for (const { where, expr } of queries)
      for (const name of metricsIn(expr)) assert.ok(known.has(name), `${where}: ${name}`);
  } finally {
    await gateway.stop();
  }
  for (const { alert, annotations } of rules) assert.ok(annotations.summary, alert);
});

test.run();
