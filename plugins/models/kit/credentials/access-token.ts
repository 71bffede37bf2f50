/** Access tokens of OAuth 2: requested from a token server with a form, or read from the response of another server. */
import {
  type Expiring,
  parseObject,
  type SmallResponse,
  type Target,
  upstreamError,
} from "portico/provider";
import { SecretMask } from "portico/secrets";

/** Asks for a token. Throws `upstreamError`: `auth` where the server refuses the form. */
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
  const hidden = Object.keys(form).flatMap((name) => (SHOWN.has(name) ? [] : [form[name]!]));
  return readAccessToken(
    target,
    await target.request({ method: "POST", url, headers, body }),
    now,
    hidden,
  );
}

/** All else in a form is what proves who asks, and the server may echo it. */
const SHOWN = new Set(["grant_type", "client_id", "scope", "client_assertion_type"]);

/** The token in `{access_token, expires_in}`. Throws `upstreamError` for anything else, without what is to be hidden. */
export function readAccessToken(
  target: Pick<Target, "channel">,
  { status, body }: SmallResponse,
  now: () => number,
  hidden: readonly string[] = [],
): Expiring<string> {
  const response = parseObject(body) ?? {};
  const { access_token: value, expires_in: seconds } = response;
  if (status === 200 && typeof value === "string" && value !== "") {
    // Some servers write the number as a text.
    const life = Number(seconds);
    return {
      value,
      expiresAt: Number.isFinite(life) && seconds != null ? now() + life * 1000 : now() + 60_000,
    };
  }
  const why =
    [response.error_description, response.error].find((one) => typeof one === "string") ??
    `status ${status}`;
  const kind = status >= 400 && status < 500 ? "auth" : "upstream";
  const what = kind === "auth" ? "refused its credentials" : "gave no token";
  return fail(
    `The token server of channel \`${target.channel}\` ${what}: ${new SecretMask(hidden).text(String(why)).slice(0, 500)}`,
    kind,
    status,
  );
}

function fail(message: string, kind: "auth" | "upstream", status: number): never {
  throw upstreamError({ kind, message }, status);
}
