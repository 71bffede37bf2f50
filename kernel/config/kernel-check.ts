/** Checks the rules for the kernel's own sections that schemas cannot express. */
import { readFileSync, statSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { absolutePath } from "../files/paths.ts";
import { describeReason } from "../files/reason.ts";
import { valueAt } from "../text/key-path.ts";
import type { ConfigCheck, ConfigFault } from "../contract/index.ts";

export const kernelConfigCheck: ConfigCheck = ({ config }) => {
  const tls = valueAt(config, ["gateway", "tls"]) as { cert: string; key: string } | undefined;
  return tls === undefined ? [] : checkTls(tls);
};

/** Checks that the certificate and the key can be read and belong together. */
function checkTls(tls: { cert: string; key: string }): ConfigFault[] {
  const faults: ConfigFault[] = [];
  const readOrReport = (name: "cert" | "key"): Buffer | undefined => {
    try {
      return readRegularFile(absolutePath(tls[name]));
    } catch (error) {
      const message = `names the file ${tls[name]}, which cannot be read: ${reasonFor(error)}`;
      faults.push({ path: ["gateway", "tls", name], message });
      return undefined;
    }
  };
  const cert = readOrReport("cert");
  const key = readOrReport("key");
  if (!cert || !key) return faults;
  try {
    createSecureContext({ cert, key });
    return [];
  } catch (error) {
    const reason = (error as Error).message.split(":").at(-1);
    const message = `names a certificate and a private key that cannot be used together: ${reason}`;
    return [{ path: ["gateway", "tls"], message }];
  }
}

function reasonFor(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" ? "it does not exist" : describeReason(error);
}

/** Reads a file. Refuses devices such as /dev/zero, which never end. */
function readRegularFile(path: string): Buffer {
  if (!statSync(path).isFile()) throw new Error("it is not a regular file");
  return readFileSync(path);
}
