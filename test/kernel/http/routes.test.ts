import { type Call, type ErrorForm, PorticoError, reply } from "portico";
import { connect } from "node:net";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { until } from "../../support/until.ts";
import { ask, codeOf, collect } from "../../support/raw-http.ts";
import { stopRoutes, startRoutes } from "../../support/routes.ts";

test.after(stopRoutes);

const open = { access: "public" } as const;

test("a handler's return value is the response", async () => {
  const gateway = await startRoutes();
  gateway.route("GET", "/value", open, () => ({ a: "ü" }));
  gateway.route("GET", "/null", open, async () => null);
  gateway.route("GET", "/created", open, () => reply(201, { id: 1 }, { location: "/x/1" }));
  gateway.route("GET", "/text", open, () => reply(200, "héllo"));
  gateway.route("GET", "/html", open, () => reply(200, "<p>", { "content-type": "text/html" }));
  gateway.route("GET", "/bytes", open, () => reply(200, Buffer.from([1, 2, 3])));
  gateway.route("GET", "/empty", open, () => reply(204));
  gateway.route("GET", "/nothing", open, () => reply(202));
  gateway.route("GET", "/void", open, () => {});
  gateway.route("GET", "/void-later", open, async () => {});
  gateway.route("GET", "/self", open, (call) => {
    call.res.writeHead(203, { "content-type": "text/plain" });
    call.res.end("by itself");
  });
  const rows: [string, number, string | undefined, string][] = [
    ["/value", 200, "application/json; charset=utf-8", Buffer.from('{"a":"ü"}').toString("latin1")],
    ["/null", 200, "application/json; charset=utf-8", "null"],
    ["/created", 201, "application/json; charset=utf-8", '{"id":1}'],
    ["/text", 200, "text/plain; charset=utf-8", Buffer.from("héllo").toString("latin1")],
    ["/html", 200, "text/html", "<p>"],
    ["/bytes", 200, "application/octet-stream", "\x01\x02\x03"],
    ["/empty", 204, undefined, ""],
    ["/nothing", 202, undefined, ""],
    ["/void", 204, undefined, ""],
    ["/void-later", 204, undefined, ""],
  ];
  for (const [path, status, type, body] of rows) {
    const response = await ask(gateway, "GET", path);
    assert.is(response.status, status, path);
    assert.is(response.headers["content-type"], type, path);
    assert.is(response.body, body, path);
    assert.is(
      response.headers["content-length"],
      status === 204 ? undefined : String(body.length),
      path,
    );
    assert.is(response.headers["x-content-type-options"], "nosniff", path);
    assert.ok(response.headers["x-request-id"], path);
    assert.not.ok(response.headers["x-powered-by"]);
  }
  assert.is((await ask(gateway, "GET", "/created")).headers["location"], "/x/1");
  const self = await ask(gateway, "GET", "/self");
  assert.is(self.status, 203);
  assert.ok(self.headers["x-request-id"] && self.headers["x-content-type-options"]);
});

test("a well-formed request id is kept and any other replaced, on errors too", async () => {
  const gateway = await startRoutes();
  let inside = "";
  gateway.route("GET", "/item", open, (call) => {
    inside = call.id;
    return {};
  });
  for (const path of ["/item", "/missing"]) {
    assert.is(
      (await ask(gateway, "GET", path, { "x-request-id": "abc-1.2:3_Z" })).headers["x-request-id"],
      "abc-1.2:3_Z",
    );
    for (const bad of ["a b", "<script>", "x".repeat(129), ""]) {
      const id =
        (await ask(gateway, "GET", path, { "x-request-id": bad })).headers["x-request-id"] ?? "";
      assert.match(id, /^req_[\w.:-]{8,}$/);
      assert.is.not(id, bad);
    }
  }
  assert.match(inside, /^req_/);
  const ids = await Promise.all(Array.from({ length: 50 }, () => ask(gateway, "GET", "/item")));
  assert.is(new Set(ids.map(({ headers }) => headers["x-request-id"])).size, 50);
});

test("unknown paths receive 404, wrong methods 405, and HEAD the head of GET", async () => {
  const gateway = await startRoutes();
  gateway.route("GET", "/item/:id", open, (call) => ({ id: call.params["id"] }));
  gateway.route("DELETE", "/item/:id", open, () => reply(204));
  gateway.route("POST", "/item", open, () => ({}));
  const missing = await ask(gateway, "GET", "/nowhere");
  assert.is(missing.status, 404);
  assert.is(codeOf(missing), "not_found");
  assert.match(missing.body, "/nowhere");
  assert.is((await ask(gateway, "GET", "/ITEM/1")).status, 404, "paths are case-sensitive");
  assert.is((await ask(gateway, "GET", "/item/1/more")).status, 404);
  assert.is((await ask(gateway, "GET", "//item/1")).status, 404);

  const wrong = await ask(gateway, "PATCH", "/item/1");
  assert.is(wrong.status, 405);
  assert.is(codeOf(wrong), "method_not_allowed");
  assert.is(wrong.headers["allow"], "GET, HEAD, DELETE");
  assert.is((await ask(gateway, "GET", "/item")).headers["allow"], "POST");
  assert.is((await ask(gateway, "PROPFIND", "/item")).status, 405);
  assert.is((await ask(gateway, "TRACE", "/item")).status, 405);

  const whole = await ask(gateway, "GET", "/item/1");
  const only = await ask(gateway, "HEAD", "/item/1");
  assert.is(only.status, 200);
  assert.is(only.body, "");
  assert.is(only.headers["content-length"], whole.headers["content-length"]);
  const lost = await ask(gateway, "HEAD", "/nowhere");
  assert.is(lost.status, 404);
  assert.is(lost.body, "");
});

test("a handler receives path, parameters and query", async () => {
  const gateway = await startRoutes();
  const describe = ({ path, params, query, method }: Call) => ({
    path,
    params,
    query: [...query],
    method,
  });
  gateway.route("GET", "/a/:x/b/:y", open, describe);
  gateway.route("GET", "/files/*", open, describe);
  gateway.route("GET", "/exact.json", open, describe);
  const get = async (path: string) =>
    JSON.parse(Buffer.from((await ask(gateway, "GET", path)).body, "latin1").toString());
  assert.equal(await get("/a/1%2F2/b/%C3%BC?q=1&q=2&r=a+b"), {
    path: "/a/1%2F2/b/%C3%BC",
    params: { x: "1/2", y: "ü" },
    query: [
      ["q", "1"],
      ["q", "2"],
      ["r", "a b"],
    ],
    method: "GET",
  });
  assert.equal((await get("/files/a/b.txt")).params, { "*": "a/b.txt" });
  assert.equal((await get("/exact.json?")).params, {});
  gateway.route("GET", "/odd/:user-id/:file.json", open, describe);
  gateway.route("GET", "/odd/:__proto__", open, describe);
  assert.throws(() => gateway.route("GET", "/maybe/:a?", open, describe), /a path such as/);
  assert.equal((await get("/odd/7/x.json")).params, { "user-id": "7", file: "x" });
  assert.is((await ask(gateway, "GET", "/odd/7/x.txt")).status, 404);
  assert.is((await ask(gateway, "GET", "/exactxjson")).status, 404, "a dot is a dot");
  assert.is((await ask(gateway, "GET", "/exact.json/")).status, 200);
  for (const path of ["/files/%", "/files/%zz", "/files/%E0%A4%A", "/files/a%00b", "/none/%ff"]) {
    const response = await ask(gateway, "GET", path);
    assert.is(response.status, 400, path);
    assert.is(codeOf(response), "invalid_request_error");
  }
});

test("the more literal route wins, whatever the order of registration", async () => {
  for (const reverse of [false, true]) {
    const gateway = await startRoutes();
    const paths = [
      "/jobs/:id",
      "/jobs/list",
      "/jobs/*",
      "/jobs/:id/runs",
      "/jobs/list/:what",
      "/*",
    ];
    for (const path of reverse ? paths.reverse() : paths)
      gateway.route("GET", path, open, () => path);
    const winner = async (path: string) => JSON.parse((await ask(gateway, "GET", path)).body);
    assert.is(await winner("/jobs/list"), "/jobs/list");
    assert.is(await winner("/jobs/7"), "/jobs/:id");
    assert.is(await winner("/jobs/7/runs"), "/jobs/:id/runs");
    assert.is(await winner("/jobs/list/runs"), "/jobs/list/:what");
    assert.is(await winner("/jobs/a/b/c"), "/jobs/*");
    assert.is(await winner("/else"), "/*");
  }
});

test("of two owners of a route the later wins until it is removed, then the earlier one applies again", async () => {
  const gateway = await startRoutes();
  const get = async (path: string) => (await ask(gateway, "GET", path)).body;
  for (const [path, requestPath] of [
    ["/fixed", "/fixed"],
    ["/with/:id", "/with/1"],
  ] as const) {
    gateway.route("GET", path, open, () => "first");
    const undo = gateway.route("GET", path, open, () => "second");
    assert.is(await get(requestPath), '"second"');
    await undo();
    assert.is(await get(requestPath), '"first"');
    await undo();
    assert.is(await get(requestPath), '"first"', "undone twice");
  }
});

test("a request in progress ends on its route, while new requests go to the new route", async () => {
  const gateway = await startRoutes();
  let release = (_: string) => {};
  const undo = gateway.route(
    "GET",
    "/swap",
    open,
    () =>
      new Promise((resolve) => {
        release = resolve;
      }),
  );
  const running = ask(gateway, "GET", "/swap");
  await until("the first call", () => gateway.active === 1);
  gateway.route("GET", "/swap", open, () => "new");
  await undo();
  assert.is((await ask(gateway, "GET", "/swap")).body, '"new"');
  release("old");
  assert.is((await running).body, '"old"');
});

test("a removed route receives no requests, and routes() lists the current ones", async () => {
  const gateway = await startRoutes();
  const undo = gateway.route("GET", "/gone", { access: "client", summary: "Going." }, () => 1);
  const { error, ...route } = JSON.parse(JSON.stringify(gateway.routes()))[0];
  assert.equal(route, { method: "GET", path: "/gone", access: "client", summary: "Going." });
  assert.equal(error.properties.error.required, ["code", "message"]);
  await undo();
  assert.is((await ask(gateway, "GET", "/gone")).status, 404);
  assert.equal(gateway.routes(), []);
});

test("Portico's own errors are sent as they are; others become a generic error and are logged with stack and request id", async () => {
  const gateway = await startRoutes();
  gateway.route("GET", "/conflict", open, () => {
    throw new PorticoError("conflict", "It is running.", {
      headers: { "retry-after": "3" },
      details: { since: 5 },
      param: "name",
    });
  });
  gateway.route("GET", "/own-code", open, async () => {
    throw new PorticoError("out_of_tea", "No tea.", { status: 418 });
  });
  gateway.route("GET", "/odd-status", open, () => {
    throw new PorticoError("odd", "Odd.", { status: 200 });
  });
  const conflict = await ask(gateway, "GET", "/conflict");
  assert.is(conflict.status, 409);
  assert.is(conflict.headers["retry-after"], "3");
  assert.equal(JSON.parse(conflict.body), {
    error: { code: "conflict", message: "It is running.", param: "name", since: 5 },
  });
  assert.is((await ask(gateway, "GET", "/own-code")).status, 418);
  assert.is((await ask(gateway, "GET", "/odd-status")).status, 500);
  assert.not.ok(gateway.lines.some(({ level }) => level === "error"));

  const bugs: Record<string, () => unknown> = {
    "/throws": () => {
      throw new Error("secret at /home/someone/file.ts");
    },
    "/rejects": async () => {
      throw new TypeError("secret of undefined");
    },
    "/nothing": () => {
      throw undefined;
    },
    "/rejects-nothing": () => Promise.reject(undefined),
    "/text": () => Promise.reject("secret text"),
    "/no-json": () => {
      const loop: Record<string, unknown> = { secret: 1 };
      loop["loop"] = loop;
      return loop;
    },
    "/bigint": async () => 1n,
    "/function": () => () => 1,
  };
  for (const [path, handler] of Object.entries(bugs)) {
    gateway.route("GET", path, open, handler);
    const response = await ask(gateway, "GET", path);
    assert.is(response.status, 500, path);
    assert.is(codeOf(response), "internal_error", path);
    assert.not.match(response.body, /secret|\.ts|at /, path);
    assert.match(response.body, response.headers["x-request-id"] ?? "?", path);
    const logged = gateway.lines.find(
      ({ level, fields }) => level === "error" && fields["id"] === response.headers["x-request-id"],
    );
    const error = logged?.fields["err"] as { stack?: string } | undefined;
    assert.match(error?.stack ?? "", "at ", path);
  }
});

test("of the error formats, the longest prefix of whole segments wins, and a failing format falls back", async () => {
  const gateway = await startRoutes();
  const form =
    (name: string): ErrorForm =>
    (error) => ({ form: name, code: error.code, status: error.status });
  gateway.errors("/v1", form("v1"));
  const undo = gateway.errors("/v1/inner/", form("inner"));
  gateway.errors("/broken", () => {
    throw new Error("bad form");
  });
  const formOf = async (path: string) => JSON.parse((await ask(gateway, "GET", path)).body).form;
  assert.is(await formOf("/v1/x"), "v1");
  assert.is(await formOf("/v1"), "v1");
  assert.is(await formOf("/v1x"), undefined);
  assert.is(await formOf("/v1/inner/x"), "inner");
  assert.is(await formOf("/v1/%"), "v1");
  await undo();
  assert.is(await formOf("/v1/inner/x"), "v1");
  const broken = await ask(gateway, "GET", "/broken/x");
  assert.is(broken.status, 404);
  assert.is(codeOf(broken), "not_found");
  assert.equal(JSON.parse((await ask(gateway, "GET", "/v1/x", { host: "evil.test" })).body), {
    form: "v1",
    code: "forbidden_host",
    status: 403,
  });
});

test("an error after the start of the response cuts it off and is logged", async () => {
  const gateway = await startRoutes();
  gateway.route("GET", "/half", open, async (call) => {
    call.res.writeHead(200, { "content-length": "100" });
    await new Promise<void>((resolve) => call.res.write("half", () => resolve()));
    throw new Error("too late");
  });
  const socket = connect(gateway.port, "127.0.0.1", () =>
    socket.write(`GET /half HTTP/1.1\r\nhost: 127.0.0.1:${gateway.port}\r\n\r\n`),
  );
  const text = await collect(socket);
  assert.match(text, /half$/);
  assert.not.match(text, "too late");
  assert.ok(
    gateway.lines.some(
      ({ level, fields }) => level === "error" && (fields["err"] as Error)?.message === "too late",
    ),
  );
});

test("signal is aborted when the client disconnects, and only then", async () => {
  const gateway = await startRoutes();
  const signals: AbortSignal[] = [];
  let release = () => {};
  gateway.route("GET", "/wait", open, (call) => {
    signals.push(call.signal);
    return new Promise((resolve) => (release = () => resolve("done")));
  });
  const staying = ask(gateway, "GET", "/wait");
  await until("a call", () => signals.length === 1);
  release();
  await staying;
  await until("its end", () => gateway.active === 0);
  assert.is(signals[0]?.aborted, false);

  const socket = connect(gateway.port, "127.0.0.1", () =>
    socket.write(`GET /wait HTTP/1.1\r\nhost: 127.0.0.1:${gateway.port}\r\n\r\n`),
  );
  await until("a second call", () => signals.length === 2);
  const aborted = new Promise((resolve) => signals[1]?.addEventListener("abort", resolve));
  socket.destroy();
  await aborted;
  release();
  await until("its end", () => gateway.active === 0);
  assert.not.ok(gateway.lines.some(({ level }) => level === "error" || level === "warn"));
});

test("each request has one log line with status, time and size, and without its query", async () => {
  const gateway = await startRoutes();
  gateway.route("GET", "/item/:id", open, (call) => {
    call.log.warn("from inside");
    return { a: 1 };
  });
  const { headers } = await ask(gateway, "GET", "/item/7?token=sekret");
  await ask(gateway, "GET", "/missing");
  await until(
    "both lines",
    () => gateway.lines.filter(({ message }) => message === "request").length === 2,
  );
  const [first, second] = gateway.lines.filter(({ message }) => message === "request");
  const { ms, bytes, time, ...rest } = first?.fields ?? {};
  const id = headers["x-request-id"];
  assert.equal(rest, { id, method: "GET", path: "/item/7", status: 200 });
  assert.type(time, "string");
  assert.type(ms, "number");
  assert.ok((bytes as number) > 100);
  assert.is(second?.fields["status"], 404);
  assert.is(second?.fields["code"], "not_found");
  assert.not.match(JSON.stringify(gateway.lines), "sekret");
  assert.is(
    gateway.lines.find(({ message }) => message === "from inside")?.fields["id"],
    headers["x-request-id"],
  );
});

test("the log lines of one connection add up to the bytes that were sent on it", async () => {
  const gateway = await startRoutes();
  gateway.route("GET", "/a", open, () => ({ a: "a".repeat(100) }));
  gateway.route("GET", "/b", open, async () => ({ b: 1 }));
  const request = (path: string, more = "") =>
    `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${gateway.port}\r\n${more}\r\n`;
  const socket = connect(gateway.port, "127.0.0.1", () =>
    socket.write(request("/a") + request("/b") + request("/a", "connection: close\r\n")),
  );
  const text = await collect(socket);
  await until(
    "three lines",
    () => gateway.lines.filter(({ message }) => message === "request").length === 3,
  );
  const sizes = gateway.lines
    .filter(({ message }) => message === "request")
    .map(({ fields }) => fields["bytes"] as number);
  assert.is(
    sizes.reduce((sum, bytes) => sum + bytes, 0),
    text.length,
  );
});

test.run();
