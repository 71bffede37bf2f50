import { type Static, Type } from "@sinclair/typebox";

const Milliseconds = (value: number, description: string) =>
  Type.Integer({ minimum: 0, default: value, description: `${description}, in milliseconds.` });
const Enabled = (description: string) => Type.Object({ enabled: Type.Boolean({ default: true, description }) });

/** The sections of `portico.json` that the kernel itself owns; all others belong to plugins. */
export const kernelSchemas = {
  $schema: Type.Optional(
    Type.String({ description: "Where an editor finds the schema: see `portico config schema`." }),
  ),
  gateway: Type.Object(
    {
      port: Type.Integer({
        minimum: 0,
        maximum: 65535,
        default: 18789,
        description: "Port to listen on; 0 takes any free one.",
        atNextStart: true,
      }),
      bind: Type.String({
        minLength: 1,
        default: "127.0.0.1",
        description: "Address to listen on. Anything but loopback needs a token or a password.",
        atNextStart: true,
      }),
      auth: Type.Object(
        {
          token: Type.Optional(
            Type.String({
              minLength: 1,
              pattern: "^\\S+$",
              secret: true,
              description: "Bearer token of the owner. Generated where neither token nor password is set.",
            }),
          ),
          password: Type.Optional(
            Type.String({
              minLength: 1,
              secret: true,
              description: "Password of the owner, for the browser control and HTTP basic.",
            }),
          ),
        },
        { description: "Who may use the gateway." },
      ),
      shutdownTimeoutMs: Milliseconds(10_000, "How long a stop waits for streams and turns"),
      trustedProxies: Type.Array(Type.String(), {
        default: [],
        description: "Addresses or networks (CIDR) of proxies whose X-Forwarded-For counts.",
      }),
      http: Type.Object(
        {
          maxBodyBytes: Type.Integer({
            minimum: 1,
            default: 32 * 1024 * 1024,
            description: "Largest request body, in bytes.",
          }),
          allowedOrigins: Type.Array(Type.String(), {
            default: [],
            description: "Origins of web pages that may call the gateway.",
          }),
          allowedHosts: Type.Array(Type.String(), {
            default: [],
            description: "Further host names under which the gateway is reached.",
          }),
          headersTimeoutMs: Milliseconds(15_000, "How long the headers of a request may take"),
          bodyTimeoutMs: Milliseconds(60_000, "How long the body of a request may stay silent"),
        },
        { description: "Limits and guards of the HTTP server." },
      ),
    },
    { description: "The gateway's own address, credentials and limits." },
  ),
  hooks: Type.Object(
    {
      enabled: Type.Boolean({ default: true, description: "Whether hooks run at all." }),
      entries: Type.Record(
        Type.String(),
        Type.Object(
          {
            enabled: Type.Optional(Type.Boolean({ description: "Overrides what the hook's HOOK.md says." })),
            env: Type.Optional(
              Type.Record(Type.String(), Type.String(), { description: "Environment variables for this hook only." }),
            ),
            timeoutMs: Type.Optional(
              Type.Integer({ minimum: 1, description: "Deadline of one call, in milliseconds." }),
            ),
            priority: Type.Optional(Type.Number({ description: "Higher runs first." })),
          },
          { additionalProperties: true, description: "Any further key is an option that the hook gets as ctx.config." },
        ),
        { default: {}, description: "Settings of single hooks, by the hook's name." },
      ),
      extraDirs: Type.Array(Type.String(), { default: [], description: "Further directories to look for hooks in." }),
      trust: Type.Union([Type.Literal("all"), Type.Literal("approved")], {
        default: "all",
        description:
          "`approved`: a workspace hook runs only once its content was approved with `portico hooks approve`.",
      }),
    },
    { description: "Hooks: small handlers of the gateway's events." },
  ),
  plugins: Type.Object(
    {
      entries: Type.Record(Type.String(), Enabled("Whether the plugin is loaded."), {
        default: {},
        description: "Settings of single plugins, by the plugin's name.",
      }),
      trust: Type.Union(
        [Type.Literal("builtin"), Type.Literal("home"), Type.Literal("workspace"), Type.Literal("all")],
        {
          default: "home",
          description:
            "Whose plugins are loaded: `builtin`, the package's own; `home`, those in <home>/plugins too; `workspace` (or `all`), those in <workspace>/plugins too.",
        },
      ),
    },
    { description: "Which plugins are loaded." },
  ),
  log: Type.Object(
    {
      level: Type.Union(
        (["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const).map((level) => Type.Literal(level)),
        { default: "info", description: "Least level that is written." },
      ),
      file: Type.Optional(
        Type.String({
          minLength: 1,
          description: "File that gets the log lines too; by default <home>/state/logs/portico.log.",
          atNextStart: true,
        }),
      ),
    },
    { description: "The gateway's log." },
  ),
};

/** The kernel's sections with their defaults filled in. */
export type KernelConfig = { [K in Exclude<keyof typeof kernelSchemas, "$schema">]: Static<(typeof kernelSchemas)[K]> };
