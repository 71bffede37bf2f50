/** `/kernel/config`: the configuration for who looks at it from elsewhere, secrets masked; a key of it, or members of an object, to write. */
import {
  compile,
  isPorticoError,
  type Management,
  MASK,
  type Mount,
  PorticoError,
  Type,
} from "portico";
import { printable } from "../config/schema.ts";

const change = compile(
  Type.Object(
    { key: Type.String({ minLength: 1 }), value: Type.Optional(Type.Unknown()) },
    { additionalProperties: false },
  ),
);

const membersChange = compile(
  Type.Object(
    {
      path: Type.Array(Type.String(), { minItems: 1 }),
      members: Type.Record(Type.String(), Type.Unknown()),
    },
    { additionalProperties: false },
  ),
);

export function mountConfigRoutes(mount: Mount, { config }: Pick<Management, "config">): void {
  const owner = { access: "gateway" } as const;
  mount.route(
    "GET",
    "/kernel/config",
    { ...owner, summary: "The configuration with its schema, secrets masked" },
    () => ({
      schema: printable(config.schema()),
      value: config.shown(),
      problem: config.problem() ?? null,
    }),
  );
  mount.route(
    "POST",
    "/kernel/config",
    { ...owner, summary: "Writes one key of the configuration; without a value it is removed" },
    async (call) => {
      const { key, value: given } = await call.json(change);
      const value = unmasked(given, at(config.shown(), key.split(".")));
      refuseMasked(value, "value");
      await (value === undefined ? config.unset(key) : config.set(key, value)).catch(
        refusing("value"),
      );
      return { ok: true, key };
    },
  );
  mount.route(
    "PATCH",
    "/kernel/config",
    {
      ...owner,
      summary: "Writes members of one object of the configuration, all or none; null removes one",
    },
    async (call) => {
      const { path, members } = await call.json(membersChange);
      refuseMasked(members, "members");
      const there = at(config.shown(), path);
      // Of a member that is undefined the text stays as it is: what is shown of it is not what stands there.
      const kept = isObject(there) ? Object.keys(there).map((name) => [name, undefined]) : [];
      const removed = (name: string) => members[name] === null;
      const next = Object.entries({ ...Object.fromEntries(kept), ...members }).filter(
        ([name]) => !removed(name),
      );
      await config.set(path, Object.fromEntries(next)).catch(refusing("members"));
      return { ok: true, path };
    },
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const at = (value: unknown, path: readonly string[]): unknown =>
  path.reduce(
    (there, step) => (isObject(there) && Object.hasOwn(there, step) ? there[step] : undefined),
    value,
  );

const isMasked = (value: unknown): boolean => JSON.stringify(value ?? null).includes(MASK);

/** A member that comes back as it was shown, masked, is `undefined` here: its text stays as it is. */
function unmasked(value: unknown, shown: unknown): unknown {
  if (!isObject(value) || !isObject(shown)) return value;
  const member = ([name, one]: [string, unknown]): [string, unknown] => {
    const before = at(shown, [name]);
    const isKept =
      !isObject(one) && isMasked(one) && JSON.stringify(one) === JSON.stringify(before);
    return [name, isKept ? undefined : unmasked(one, before)];
  };
  return Object.fromEntries(Object.entries(value).map(member));
}

/** Whoever saves what was masked would lose what stands there. */
function refuseMasked(value: unknown, param: string): void {
  if (isMasked(value))
    throw new PorticoError(
      "invalid_request_error",
      "The value is masked: give the secret itself.",
      { param },
    );
}

function refusing(param: string): (error: unknown) => never {
  return (error) => {
    if (!isPorticoError(error) || error.code !== "config_error") throw error;
    throw new PorticoError("invalid_request_error", error.message, { param, cause: error });
  };
}
