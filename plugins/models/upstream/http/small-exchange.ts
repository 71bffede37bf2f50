/** Sends a small request to an upstream and reads its whole response, for lists of models and counts of tokens. */
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

/**
 * Resolves with a response of any status. Rejects with `upstream_error` or `upstream_timeout` if there is no response.
 */
export function exchangeSmall(
  upstreams: UpstreamClient,
  call: UpstreamCall,
  { proxy, timeoutMs }: { proxy: string | undefined; timeoutMs: number },
): Promise<SmallResponse> {
  return new Promise((resolve, reject) => {
    const response = new HeldResponse(LIMITS);
    let status = 0;
    let headers: IncomingHttpHeaders = {};
    const timer = setTimeout(() => {
      request.abort();
      reject(errors.upstreamTimeout({ ms: timeoutMs }));
    }, timeoutMs);
    const receiver: Receiver = {
      head: (responseStatus, responseHeaders) => {
        status = responseStatus;
        headers = responseHeaders;
      },
      data: (bytes) => {
        response.push(bytes);
        if (response.excess === undefined) return;
        clearTimeout(timer);
        request.abort();
        reject(new ResponseTooLarge(`The upstream's list of models ${response.excess}.`));
      },
      end: () => {
        clearTimeout(timer);
        resolve({ status, headers, body: response.takeWhole() });
      },
      fail: (error) => {
        clearTimeout(timer);
        const problem =
          error instanceof Unsendable || isPorticoError(error)
            ? `could not be contacted: ${error.message}`
            : `could not be reached${error instanceof ProxyFailure ? `: ${error.message}` : codeOf(error)}`;
        reject(errors.upstreamUnreachable({ problem }, { cause: error }));
      },
    };
    const request = upstreams.send(call, receiver, proxy);
  });
}

function codeOf(error: Error): string {
  const code = (error as NodeJS.ErrnoException).code;
  return code === undefined ? "" : ` (${code})`;
}
