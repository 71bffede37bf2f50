/** Turns `store.tls`, the encryption of connections to PostgreSQL, into parameters of the address. */
import { errors } from "../errors.ts";

export interface TlsSettings {
  mode?: "verify-full" | "no-verify" | "disable";
  ca?: string;
  cert?: string;
  key?: string;
}

/** Returns the address with the settings in it. Throws `config_error` if the address has parameters of TLS itself. */
export function withTls(url: string, tls: TlsSettings | undefined): string {
  if (tls === undefined) return url;
  const [base = "", query = ""] = url.split("?", 2);
  const params = new URLSearchParams(query);
  if ([...params.keys()].some((name) => name.startsWith("ssl")))
    throw errors.tlsTwice({ param: "store.tls" });
  const { mode = "verify-full", ca, cert, key } = tls;
  const sslParams = { sslmode: mode, sslrootcert: ca, sslcert: cert, sslkey: key };
  const settings = Object.entries(sslParams).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return `${base}?${[...(query === "" ? [] : [query]), ...settings].join("&")}`;
}
