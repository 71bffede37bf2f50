/** Every contribution point that types name is declared by its owner, so that items of it can be checked. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { loaderFor } from "../../../../../kernel/package-loader.ts";
import { readPlugins } from "../../../../../kernel/host/extensions/plugins/candidate.ts";
import { createPoints } from "../../../../../kernel/host/extensions/plugins/points.ts";
import { packageDir } from "../../../../support/gateway.ts";
import { test } from "../../../../support/suite.ts";

test("the points of the types are those that definitions declare", async () => {
  const sources = ["kernel", "plugins"].flatMap((room) =>
    readdirSync(join(packageDir, room), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => readFileSync(join(packageDir, room, file), "utf8")),
  );
  const typed = sources.flatMap((text) =>
    [...text.matchAll(/interface Contributions \{([^}]*)\}/g)].flatMap(([, body = ""]) =>
      [...body.matchAll(/^\s*(\w+): /gm)].map(([, name]) => name),
    ),
  );
  const roots = [{ name: "bundled", dir: join(packageDir, "plugins"), rank: 0 }];
  const plugins = await readPlugins(
    roots,
    loaderFor({ package: packageDir, state: join(packageDir, ".build") }),
  );
  const points = createPoints(new Set());
  points.declare(
    plugins.flatMap(({ meta }) => meta ?? []),
    () => true,
  );
  assert.ok(typed.length > 5);
  for (const point of typed) {
    try {
      points.check(point as "tool", undefined as never);
    } catch (error) {
      assert.match((error as Error).message, "it must be an object", point);
    }
  }
});

test.run();
