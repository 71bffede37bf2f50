/** Connections on which the server can read no request. */
import { PassThrough } from "node:stream";
import * as assert from "uvu/assert";
import { endBroken } from "../../../kernel/http/protocol-errors.ts";
import { createErrorForms } from "../../../kernel/http/response/errors.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { test } from "../../support/suite.ts";

test("an unfinished handshake ends its connection", () => {
  for (const code of ["ERR_TLS_HANDSHAKE_TIMEOUT", "ERR_SSL_HTTP_REQUEST", "ECONNRESET"]) {
    const socket = new PassThrough();
    endBroken(
      Object.assign(new Error("broken"), { code }),
      socket,
      { count: 0, sentBytes: 0 },
      createErrorForms(quietLog()),
    );
    assert.ok(socket.destroyed, code);
  }
});

test.run();
