/** TLS on the way to PostgreSQL. */
import { chownSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { openStore } from "../../../../plugins/store/open.ts";
import { localhost, gatewayOne } from "../../../support/machine/certificates.ts";
import { startPostgres, type TestPostgres } from "../../../support/machine/postgres.ts";
import { quietLog } from "../../../support/quiet-log.ts";
import { suite } from "../../../support/suite.ts";
import { temporaryDir } from "../../../support/temporary.ts";

const test = suite("TLS to PostgreSQL");
const dir = temporaryDir("portico-tls-");
const ours = file("ours.pem", localhost.cert);
const others = file("others.pem", gatewayOne.cert);
const servers: Record<string, TestPostgres> = {};
test.before(async () => {
  servers["known"] = await startPostgres({ settings: tlsOf("known", localhost) });
  servers["misnamed"] = await startPostgres({ settings: tlsOf("misnamed", gatewayOne) });
});
test.after(async () => {
  for (const server of Object.values(servers)) await server.stop();
});

function file(name: string, text: string): string {
  writeFileSync(join(dir, name), text, { mode: 0o600 });
  return join(dir, name);
}

/** The server reads its key only where that is its user's own; see `startPostgres`. */
function tlsOf(name: string, { cert, key }: typeof localhost): string[] {
  const files = [file(`${name}.cert`, cert), file(`${name}.key`, key)];
  if (process.getuid?.() === 0) for (const each of [dir, ...files]) chownSync(each, 65_534, 65_534);
  return ["ssl=on", `ssl_cert_file=${files[0]}`, `ssl_key_file=${files[1]}`, "fsync=off"];
}

/** Returns the error, or `encrypted` or `plain`. */
async function connect(name: string, query: string): Promise<string> {
  const server = servers[name] as TestPostgres;
  const store = openStore({ url: `${server.tcpUrl()}?${query}`, log: quietLog() });
  try {
    await store.open();
    const plain = server.sql(
      "SELECT 1 FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE client_port > 0 AND NOT ssl",
    );
    return plain.trim() === "" ? "encrypted" : "plain";
  } catch (error) {
    return (error as Error).message;
  } finally {
    await store.close();
  }
}

for (const mode of ["verify-full", "verify-ca", "require"]) {
  test(`sslmode=${mode} with the server's authority connects, and its traffic is encrypted`, async () => {
    assert.is(await connect("known", `sslmode=${mode}&sslrootcert=${ours}`), "encrypted");
  });
  test(`sslmode=${mode} refuses a certificate of another authority, and one that no authority has signed`, async () => {
    assert.match(
      await connect("known", `sslmode=${mode}&sslrootcert=${others}`),
      /TLS failed \(.*certificate/,
    );
    assert.match(await connect("known", `sslmode=${mode}`), /TLS failed \(.*certificate/);
  });
  test(`sslmode=${mode} refuses a certificate for another name`, async () => {
    assert.match(
      await connect("misnamed", `sslmode=${mode}&sslrootcert=${others}`),
      /TLS failed \(.*does not match/,
    );
  });
}

test("without a TLS setting, connections are not encrypted", async () => {
  assert.is(await connect("known", "application_name=portico"), "plain");
});

test("a file of certificates that cannot be read is named", async () => {
  const message = await connect("known", "sslmode=verify-full&sslrootcert=/nowhere/root.pem");
  assert.match(message, /store\.url.*sslrootcert cannot be read/);
  assert.not.match(message, /correct|nowhere/);
});

test.run();
