import { Socket } from "node:net";
import * as assert from "uvu/assert";
import { Connection } from "../../../../plugins/models/upstream/http/connection.ts";
import { Pool } from "../../../../plugins/models/upstream/http/pool.ts";
import { sameShape } from "../../../support/machine/same-shape.ts";
import { suite } from "../../../support/suite.ts";

const test = suite("pools of connections");

// What the code of every request has in a cache: otherwise it is compiled again and again.
test("a pool keeps its shape when a connection waits in it", () => {
  const [fresh, used] = [new Pool("http://127.0.0.1:1"), new Pool("http://127.0.0.1:1")];
  used.idle(new Connection(new Socket(), used));
  assert.ok(sameShape(fresh, used));
  used.close();
});

test.run();
