/** `/kernel/config`: the configuration for who looks at it from elsewhere, secrets masked, and one key of it to write. */
import { compile, isPorticoError, type Management, MASK, type Mount, PorticoError, Type } from "portico";
import { printable } from "../config/schema.ts";

const change = compile(
  Type.Object(
    { key: Type.String({ minLength: 1 }), value: Type.Optional(Type.Unknown()) },
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
      const { key, value } = await call.json(change);
      // whoever saves what was masked would lose what stands there
      if (JSON.stringify(value ?? null).includes(MASK))
        throw new PorticoError("invalid_request_error", "The value is masked: give the secret itself.", {
          param: "value",
        });
      await (value === undefined ? config.unset(key) : config.set(key, value)).catch((error: unknown) => {
        if (!isPorticoError(error) || error.code !== "config_error") throw error;
        throw new PorticoError("invalid_request_error", error.message, { param: "value", cause: error });
      });
      return { ok: true, key };
    },
  );
}
