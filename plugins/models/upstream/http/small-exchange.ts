/** A small request to an upstream and its whole response: lists of models, tokens. */
import type { IncomingHttpHeaders } from "node:http";
import { isPorticoError } from "portico";
import { ResponseTooLarge, type SmallResponse } from "portico/provider";
import { WHOLE_RESPONSE } from "../response-extent.ts";
import { HeldResponse } from "../held-response.ts";
import {
  type Receiver,
  type UpstreamCall,
  type UpstreamClient,
  Unsendable,
} from "./upstream-client.ts";
import { ProxyFailure } from "./via-proxy.ts";
import { errors } from "../../errors.ts";

const LIMITS = { ...WHOLE_RESPONSE, bytes: 16 * 1024 * 1024 };

/** Resolves with whatever status comes. Rejects with `upstream_error` or `upstream_timeout` where no response does. */
export function exchangeSmall(
  upstreams: UpstreamClient,
  call: UpstreamCall,
  { proxy, timeoutMs }: { proxy: string | undefined; timeoutMs: number },
): Promise<SmallResponse> {
  return new Promise((resolve, reject) => {
    const held = new HeldResponse(LIMITS);
    let status = 0;
    let headers: IncomingHttpHeaders = {};
    const timer = setTimeout(() => {
      sending.abort();
      reject(errors.upstreamTimeout({ ms: timeoutMs }));
    }, timeoutMs);
    const receiver: Receiver = {
      head: (givenStatus, givenHeaders) => {
        status = givenStatus;
        headers = givenHeaders;
      },
      data: (bytes) => {
        held.push(bytes);
        if (held.excess === undefined) return;
        clearTimeout(timer);
        sending.abort();
        reject(new ResponseTooLarge(`The upstream's list ${held.excess}.`));
      },
      end: () => {
        clearTimeout(timer);
        resolve({ status, headers, body: held.takeWhole() });
      },
      fail: (error) => {
        clearTimeout(timer);
        const why =
          error instanceof Unsendable || isPorticoError(error)
            ? `could not be asked: ${error.message}`
            : `could not be reached${error instanceof ProxyFailure ? `: ${error.message}` : codeOf(error)}`;
        reject(errors.upstreamUnreachable({ problem: why }, { cause: error }));
      },
    };
    const sending = upstreams.send(call, receiver, proxy);
  });
}

function codeOf(error: Error): string {
  const code = (error as NodeJS.ErrnoException).code;
  return code === undefined ? "" : ` (${code})`;
}
