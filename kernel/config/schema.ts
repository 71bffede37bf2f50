import { type Static, type StringOptions, Type } from "@sinclair/typebox";
import { isOwnMachine, refuseNetwork } from "../net/address.ts";
import { timerMs } from "../schema/timer.ts";
import { DEFAULT_JSON_LIMITS } from "../text/json-scan.ts";
import { valueAt } from "../text/key-path.ts";

const text = (description: string, options: StringOptions = {}) =>
  Type.String({ description, ...options });
const texts = (description: string, itemOptions = {}) =>
  Type.Array(Type.String(itemOptions), { default: [], description });
const flag = (description: string) => Type.Boolean({ default: true, description });
const milliseconds = (value: number, description: string) =>
  timerMs({ minimum: 0, default: value, description: `${description}, in milliseconds.` });
const oneOf = <const W extends readonly string[]>(
  words: W,
  preset: W[number],
  description: string,
) =>
  Type.Union(
    words.map((word) => Type.Literal(word as W[number])),
    { default: preset, description },
  );

const secret = { minLength: 1, secret: true };
const auth = {
  token: Type.Optional(
    text(
      "The bearer token of the owner. The gateway generates one if neither a token nor a password is set.",
      {
        ...secret,
        pattern: "^\\S+$",
        expected: "free of white space",
      },
    ),
  ),
  password: Type.Optional(
    text(
      "The password of the owner, for the browser control server and for HTTP basic authentication.",
      secret,
    ),
  ),
};

const connections = (description: string) =>
  Type.Union([Type.Integer({ minimum: 1 }), Type.Literal("auto")], {
    default: "auto",
    description,
  });

const http = {
  maxBodyBytes: Type.Integer({
    minimum: 1,
    default: 32 * 1024 * 1024,
    description: "The largest size of a request body after decompression, in bytes.",
  }),
  maxValues: Type.Integer({
    minimum: 1,
    default: DEFAULT_JSON_LIMITS.maxValues,
    description:
      "The largest number of values in a request body: strings, numbers, lists, form fields, …",
  }),
  maxMembers: Type.Integer({
    minimum: 1,
    default: DEFAULT_JSON_LIMITS.maxMembers,
    description:
      "The largest number of members in an object, of fields in a form, or of attributes in an XML element.",
  }),
  maxDepth: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: DEFAULT_JSON_LIMITS.maxDepth,
    description: "How deeply lists, objects and XML elements may be nested in a request body.",
  }),
  maxConnections: connections(
    "How many client connections each worker holds at a time: a number, or `auto`, which derives the number from the process's limit on open files. When this number is reached, a new connection replaces an idle one.",
  ),
  maxConnectionsPerAddress: connections(
    "How many client connections each worker holds for one client address: a number, or `auto` for half of maxConnections. Addresses in gateway.trustedProxies are exempt.",
  ),
  allowedOrigins: texts("Origins of web pages that may call the gateway."),
  allowedHosts: texts("Additional host names by which clients reach the gateway."),
  headersTimeoutMs: milliseconds(
    15_000,
    "How long a client may take to send the headers of a request (0: no limit)",
  ),
  bodyTimeoutMs: milliseconds(
    60_000,
    "How long a client may pause while it sends a request body (0: no limit)",
  ),
};

const gateway = {
  port: Type.Integer({
    minimum: 0,
    maximum: 65535,
    default: 18789,
    description: "The port to listen on; 0 selects any free port.",
    atNextStart: true,
  }),
  bind: text(
    "The address to listen on. Any address other than loopback requires a token or a password.",
    {
      minLength: 1,
      default: "127.0.0.1",
      atNextStart: true,
      refuse: refuseOpenBind,
    },
  ),
  auth: Type.Object(auth, { description: "The credentials of the owner." }),
  tls: Type.Optional(
    Type.Object(
      {
        cert: text("The file of the certificate, in PEM format.", { minLength: 1 }),
        key: text("The file of the certificate's private key, in PEM format.", { minLength: 1 }),
      },
      {
        description:
          "The certificate with which the gateway serves HTTPS. The gateway reads the files again when they change.",
        atNextStart: true,
      },
    ),
  ),
  workers: Type.Union([Type.Integer({ minimum: 1, maximum: 64 }), Type.Literal("auto")], {
    default: 1,
    description:
      "How many worker processes share the address and the store: a number, or `auto` for one per core.",
    atNextStart: true,
  }),
  shutdownTimeoutMs: milliseconds(
    10_000,
    "How long the gateway waits for streams and turns when it stops",
  ),
  trustedProxies: texts(
    "Addresses or CIDR ranges of proxies whose X-Forwarded-For header the gateway trusts.",
    {
      refuse: refuseNetwork,
    },
  ),
  http: Type.Object(http, { description: "Limits and access checks of the HTTP server." }),
};

const hook = Type.Object(
  {
    enabled: Type.Optional(
      Type.Boolean({ description: "Whether the hook is enabled. This overrides its HOOK.md." }),
    ),
    env: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: "Environment variables for this hook only.",
      }),
    ),
    timeoutMs: Type.Optional(timerMs({ description: "Deadline of one call, in milliseconds." })),
    priority: Type.Optional(Type.Number({ description: "Hooks with a higher number run first." })),
  },
  {
    additionalProperties: true,
    description: "Any other key is an option that the hook receives in ctx.config.",
  },
);

const hooks = {
  enabled: flag("Whether the gateway runs hooks."),
  entries: Type.Record(Type.String(), hook, {
    default: {},
    description: "Settings of individual hooks, by the name of the hook.",
  }),
  extraDirs: texts("Additional directories to look for hooks in."),
  trust: oneOf(
    ["bundled", "managed", "approved", "workspace", "all"],
    "all",
    "Which hooks run. `bundled`: only the hooks of the package. `managed`: also the hooks in <home>/hooks. `approved`: also hooks in <workspace>/hooks whose content was approved with `portico hooks approve`. `workspace` (or `all`): all these hooks, without approval.",
  ),
};

const plugins = {
  entries: Type.Record(
    Type.String(),
    Type.Object({ enabled: flag("Whether the plugin is loaded.") }),
    {
      default: {},
      description: "Settings of individual plugins, by the name of the plugin.",
    },
  ),
  trust: oneOf(
    ["bundled", "managed", "workspace", "builtin", "home", "all"],
    "managed",
    "Which plugins are loaded. `bundled`: only the plugins of the package. `managed`: also the plugins in <home>/plugins. `workspace`: also the plugins in <workspace>/plugins. (`builtin`, `home` and `all` are older names of these values.)",
  ),
};

const levels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
const log = {
  level: oneOf(levels, "info", "The gateway logs lines of this level and above."),
  file: Type.Optional(
    text(
      "A file to which the gateway writes the log lines in addition to standard output. Default: <home>/state/logs/portico.log.",
      {
        minLength: 1,
        atNextStart: true,
      },
    ),
  ),
};

/**
 * Refuses an address that others can reach without credentials. A token generated at startup does not count: such a
 * gateway needs a token that its owner chose.
 */
function refuseOpenBind(bind: unknown, configuration: unknown): string | undefined {
  const isSet = (key: string) => valueAt(configuration, ["gateway", "auth", key]) !== undefined;
  if (typeof bind !== "string" || isOwnMachine(bind) || isSet("token") || isSet("password"))
    return undefined;
  return `is ${bind}, which other machines can reach: set gateway.auth.token or gateway.auth.password in the configuration first`;
}

/** The sections of `portico.json` that the kernel itself owns; all others belong to plugins. */
export const kernelSchemas = {
  $schema: Type.Optional(
    text("The address of the JSON Schema, for editors. `portico config schema` prints the schema."),
  ),
  gateway: Type.Object(gateway, {
    description: "The gateway's own address, credentials and limits.",
  }),
  hooks: Type.Object(hooks, { description: "Hooks: small handlers of the gateway's events." }),
  plugins: Type.Object(plugins, { description: "Which plugins are loaded." }),
  log: Type.Object(log, { description: "The gateway's log." }),
};

/** The settings of the HTTP layer. They are read at every use, so that a changed file applies at once. */
export type HttpSettings = Pick<KernelConfig["gateway"], "http" | "trustedProxies">;

/** The kernel's sections with their defaults filled in. */
export type KernelConfig = {
  [K in Exclude<keyof typeof kernelSchemas, "$schema">]: Static<(typeof kernelSchemas)[K]>;
};
