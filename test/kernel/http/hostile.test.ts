/** Links of other sites: they lead to the public page, and to nothing else. */
import * as assert from "uvu/assert";
import { ask, codeOf } from "../../support/raw-http.ts";
import { startRoutes, stopRoutes } from "../../support/routes.ts";
import { test } from "../../support/suite.ts";

test.after(stopRoutes);

const link = {
  "sec-fetch-site": "cross-site",
  "sec-fetch-mode": "navigate",
  "sec-fetch-dest": "document",
};

test("a link on another site opens the public page and nothing else", async () => {
  const gateway = await startRoutes();
  gateway.route("GET", "/", { access: "public" }, () => "page");
  gateway.route("POST", "/", { access: "public" }, () => "posted");
  gateway.route("GET", "/other", { access: "public" }, () => "other");
  gateway.route("GET", "/data", { access: "gateway" }, () => "data");
  for (const site of ["cross-site", "same-site"])
    assert.is(
      (await ask(gateway, "GET", "/", { ...link, "sec-fetch-site": site })).status,
      200,
      site,
    );
  const rows: [string, string, Record<string, string>][] = [
    ["another path", "/other", {}],
    ["data", "/data", { authorization: "Bearer right-token" }],
    ["nothing", "/missing", {}],
    ["a frame", "/", { "sec-fetch-dest": "iframe" }],
    ["an object", "/", { "sec-fetch-dest": "object" }],
    ["an image", "/", { "sec-fetch-dest": "image", "sec-fetch-mode": "no-cors" }],
    ["a fetch", "/", { "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" }],
    ["a form", "/", { origin: "http://evil.test" }],
    ["no mode", "/", { "sec-fetch-mode": "" }],
  ];
  for (const [what, path, headers] of rows) {
    const response = await ask(gateway, "GET", path, { ...link, ...headers });
    assert.is(response.status, 403, what);
    assert.is(codeOf(response), "forbidden_origin", what);
  }
  for (const method of ["POST", "HEAD", "PUT"])
    assert.is((await ask(gateway, method, "/", link)).status, 403, method);
});

test("a page that is not public cannot be opened by a link", async () => {
  const gateway = await startRoutes();
  gateway.route("GET", "/", { access: "control" }, () => "state");
  assert.is((await ask(gateway, "GET", "/", link)).status, 403);
});

test.run();
