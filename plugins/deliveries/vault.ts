/** Encrypts secrets at rest with a key in the home's state, so that a backup of the store alone cannot decrypt them. */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const PURPOSE = Buffer.from("portico delivery 1");

export interface Vault {
  encrypt(text: string): string;
  /** Throws if the key is missing, if the text was encrypted with another key, or if the text was changed since. */
  decrypt(sealed: string): string;
}

/**
 * Creates a vault whose key is in `keyFile`. The first encryption creates the key. The file is read for each text, so that a
 * key which is copied into the home takes effect without a restart.
 */
export function createVault(keyFile: string): Vault {
  return {
    encrypt(text) {
      const key = readKey(keyFile) ?? createKey(keyFile);
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(PURPOSE);
      const content = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), content]).toString("base64url");
    },
    decrypt(sealed) {
      const key = readKey(keyFile);
      if (key === undefined) throw new Error(`${keyFile} is missing`);
      const bytes = Buffer.from(sealed, "base64url");
      const iv = bytes.subarray(0, IV_BYTES);
      const tag = bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES);
      const options = { authTagLength: TAG_BYTES };
      const decipher = createDecipheriv("aes-256-gcm", key, iv, options);
      decipher.setAAD(PURPOSE).setAuthTag(tag);
      const content = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES));
      return Buffer.concat([content, decipher.final()]).toString("utf8");
    },
  };
}

function readKey(file: string): Buffer | undefined {
  let key: Buffer;
  try {
    key = readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  if (key.length !== KEY_BYTES)
    throw new Error(`${file} does not contain a key of ${KEY_BYTES} bytes`);
  chmodSync(file, 0o600);
  return key;
}

/** Several workers may create the key at the same time: linking a complete file never replaces an existing one. */
function createKey(file: string): Buffer {
  const temporary = `${file}.${randomBytes(6).toString("hex")}.tmp`;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(temporary, randomBytes(KEY_BYTES), { mode: 0o600 });
  try {
    linkSync(temporary, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
  return readKey(file) as Buffer;
}
