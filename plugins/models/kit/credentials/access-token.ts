/**
 * Gets access tokens of OAuth 2: requests them from a token server with a form, or reads them from the response of
 * another server.
 */
import {
  type Expiring,
  parseObject,
  type SmallResponse,
  type Target,
  upstreamError,
} from "portico/provider";
import { SecretMask } from "portico/secrets";

/** Requests a token. Throws `upstreamError`, of the kind `auth` if the server refuses the form. */
export async function fetchAccessToken(
  target: Target,
  url: string,
  form: Record<string, string>,
  now: () => number,
): Promise<Expiring<string>> {
  const body = new URLSearchParams(form).toString();
  const headers = {
    "content-type": "application/x-www-form-urlencoded",
    accept: "application/json",
  };
  const hidden = Object.keys(form).flatMap((name) =>
    PUBLIC_FIELDS.has(name) ? [] : [form[name]!],
  );
  return readAccessToken(
    target,
    await target.request({ method: "POST", url, headers, body }),
    now,
    hidden,
  );
}

/** Form fields that are no secrets. All others prove the identity of the client, and the server may echo them. */
const PUBLIC_FIELDS = new Set(["grant_type", "client_id", "scope", "client_assertion_type"]);

/**
 * Reads the token in `{access_token, expires_in}`. Throws `upstreamError` for anything else, with the values in
 * `hidden` masked.
 */
export function readAccessToken(
  target: Pick<Target, "channel">,
  { status, body }: SmallResponse,
  now: () => number,
  hidden: readonly string[] = [],
): Expiring<string> {
  const response = parseObject(body) ?? {};
  const { access_token: value, expires_in: seconds } = response;
  if (status === 200 && typeof value === "string" && value !== "") {
    // Some servers send the number as a string.
    const life = Number(seconds);
    return {
      value,
      expiresAt: Number.isFinite(life) && seconds != null ? now() + life * 1000 : now() + 60_000,
    };
  }
  const reason =
    [response.error_description, response.error].find((text) => typeof text === "string") ??
    `status ${status}`;
  const kind = status >= 400 && status < 500 ? "auth" : "upstream";
  const problem = kind === "auth" ? "refused its credentials" : "returned no token";
  return fail(
    `The token server of channel \`${target.channel}\` ${problem}: ${new SecretMask(hidden).text(String(reason)).slice(0, 500)}`,
    kind,
    status,
  );
}

function fail(message: string, kind: "auth" | "upstream", status: number): never {
  throw upstreamError({ kind, message }, status);
}
