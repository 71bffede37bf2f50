/** `store.pool`, `store.statementTimeoutMs` and `store.tls`. */
import { chownSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../../support/gateway.ts";
import { localhost, gatewayOne } from "../../../support/machine/certificates.ts";
import { startPostgres, type TestPostgres } from "../../../support/machine/postgres.ts";
import { suite } from "../../../support/suite.ts";
import { temporaryDir } from "../../../support/temporary.ts";

const test = suite("settings of PostgreSQL");
const dir = temporaryDir("portico-settings-");
let server: TestPostgres;
let gateway: InProcessGateway | undefined;
test.before(async () => {
  const [cert, key] = [file("cert", localhost.cert), file("key", localhost.key)];
  if (process.getuid?.() === 0)
    for (const each of [dir, cert, key]) chownSync(each, 65_534, 65_534);
  server = await startPostgres({
    settings: ["ssl=on", `ssl_cert_file=${cert}`, `ssl_key_file=${key}`, "fsync=off"],
  });
});
test.after.each(async () => {
  await gateway?.stop();
  gateway = undefined;
});
test.after(() => server.stop());

function file(name: string, text: string): string {
  writeFileSync(join(dir, name), text, { mode: 0o600 });
  return join(dir, name);
}

async function start(store: Record<string, unknown>): Promise<InProcessGateway> {
  gateway = await startGateway({ config: { store, webhooks: { token: "hook-token" } } });
  return gateway;
}

const ask = (sql: string): string => server.sql(sql).trim();
const OURS = "FROM pg_stat_activity WHERE application_name = 'portico'";

test("a gateway opens no more connections than its pool has", async () => {
  const running = await start({ url: server.emptyUrl(), pool: 5 });
  const requests = Array.from({ length: 40 }, () => running.json("GET", "/store"));
  for (const { ok } of await Promise.all(requests)) assert.ok(ok);
  assert.is(ask(`SELECT count(*) ${OURS}`), "5");
});

test("a statement that takes too long is cancelled, and the error names the setting", async () => {
  const url = server.emptyUrl();
  const running = await start({ url, statementTimeoutMs: 200 });
  const schema = /search_path%3D(\w+)/.exec(url)?.[1];
  server.sql(`CREATE FUNCTION ${schema}.dawdle() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN PERFORM pg_sleep(20); RETURN NEW; END'`);
  server.sql(`CREATE TRIGGER slow BEFORE INSERT ON ${schema}.items
    FOR EACH ROW EXECUTE FUNCTION ${schema}.dawdle()`);
  const response = await fetch(`${running.url}/hooks/wake`, {
    method: "POST",
    headers: { authorization: "Bearer hook-token", "content-type": "application/json" },
    body: JSON.stringify({ text: "the build is red" }),
  });
  const body = await response.text();
  assert.is(response.status, 503, body);
  assert.match(body, /store\.statementTimeoutMs/);
});

test("with an authority, connections are encrypted; with another one, the gateway does not start", async () => {
  await start({ url: server.tcpUrl(), tls: { ca: file("ours.pem", localhost.cert) } });
  assert.is(
    ask(`SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
    WHERE application_name = 'portico'`),
    "t",
  );
  await gateway?.stop();
  gateway = undefined;
  await start({ url: server.tcpUrl(), tls: { ca: file("others.pem", gatewayOne.cert) } }).then(
    () => assert.unreachable("it has started"),
    (error: Error) => assert.match(error.message, /TLS failed/),
  );
});

test("TLS in the address and in store.tls is a contradiction", async () => {
  await start({ url: `${server.tcpUrl()}?sslmode=disable`, tls: { mode: "no-verify" } }).then(
    () => assert.unreachable("it has started"),
    (error: Error) => assert.match(error.message, /store\.url and store\.tls/),
  );
});

test.run();
