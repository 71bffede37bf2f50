/** `store.tls`: how connections to PostgreSQL are encrypted, as parameters of the address. */
import { errors } from "../errors.ts";

export interface TlsSettings {
  mode?: "verify-full" | "no-verify" | "disable";
  ca?: string;
  cert?: string;
  key?: string;
}

/** The address with the settings in it. Throws `config_error` where the address says something about TLS itself. */
export function withTls(url: string, tls: TlsSettings | undefined): string {
  if (tls === undefined) return url;
  const [base = "", query = ""] = url.split("?", 2);
  const params = new URLSearchParams(query);
  if ([...params.keys()].some((name) => name.startsWith("ssl")))
    throw errors.tlsTwice({ param: "store.tls" });
  const { mode = "verify-full", ca, cert, key } = tls;
  const own = { sslmode: mode, sslrootcert: ca, sslcert: cert, sslkey: key };
  const added = Object.entries(own).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return `${base}?${[...(query === "" ? [] : [query]), ...added].join("&")}`;
}
