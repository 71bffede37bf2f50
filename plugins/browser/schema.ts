/** The `browser` section of `portico.json`. */
import { type Logger, type Static, timerMs, Type } from "portico";
import { refuseNames, SOCKET_ADDRESS } from "portico/strings";
import { LAUNCH_ARGUMENT } from "./drivers/launch-arguments.ts";

const optional = Type.Optional;
/** The pattern of a colour, with a description of the expected form for error messages. */
export const COLOR = { pattern: "^#[0-9a-fA-F]{6}$", expected: "a colour like #3b6ea8" };

/** The pattern of a profile's name, which is also the name of its directory. */
export const PROFILE_NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/i;
export const PROFILE_NAME_RULE =
  "a letter or digit, followed only by letters, digits, '-' and '_' (at most 63 characters in all)";

const color = Type.String({
  ...COLOR,
  description: "The colour of the profile's window in hexadecimal form, #rrggbb.",
});

const LAUNCH_ARGUMENT_RULE =
  "a switch such as --lang=de, but none that opens a port, bypasses the proxy, reads or writes files, runs programs or removes a protection";

/** Launch settings of managed profiles. */
export const LaunchSettings = {
  proxy: optional(
    Type.String({
      pattern: "^(https?|socks5)://[^\\s/][^\\s]*$",
      format: "uri",
      expected: "an http, https or socks5 address",
      description:
        "The address of the proxy to which the gateway's filtering proxy forwards its traffic. The address may contain credentials.",
    }),
  ),
  userAgent: optional(
    Type.String({
      pattern: "^[\\x20-\\x7e]+$",
      expected: "a single line of printable ASCII characters",
      maxLength: 1000,
      description: "The user agent to send instead of the browser's own.",
    }),
  ),
  args: optional(
    Type.Array(
      Type.String({ pattern: LAUNCH_ARGUMENT, expected: LAUNCH_ARGUMENT_RULE, maxLength: 2000 }),
      {
        maxItems: 100,
        description:
          "Additional command-line switches of the browser. The gateway refuses switches that open a port, bypass the proxy, read or write files, run programs, or remove a protection.",
      },
    ),
  ),
};

export const ProfileConfig = Type.Object(
  {
    cdpPort: optional(
      Type.Integer({
        minimum: 1024,
        maximum: 65535,
        description:
          "The debugging port. By default, the gateway assigns a port from 18800 to 18899.",
      }),
    ),
    cdpUrl: optional(
      Type.String({
        ...SOCKET_ADDRESS,
        description:
          "The address of a browser that runs elsewhere. The address may contain credentials.",
      }),
    ),
    color: optional(color),
    node: optional(Type.String({ description: "The node whose browser this profile uses." })),
    driver: optional(
      Type.Union([Type.Literal("managed"), Type.Literal("remote"), Type.Literal("extension")]),
    ),
    ...LaunchSettings,
  },
  { additionalProperties: false },
);

export const BrowserConfig = Type.Object(
  {
    enabled: Type.Boolean({ default: true }),
    defaultProfile: Type.String({ default: "portico" }),
    ssrfPolicy: Type.Object(
      {
        dangerouslyAllowPrivateNetwork: optional(
          Type.Boolean({
            description:
              "Whether pages on private networks can be opened. Default: true. If this is false, only public addresses can be opened.",
          }),
        ),
        allowPrivateNetwork: optional(
          Type.Boolean({ description: "The older name of dangerouslyAllowPrivateNetwork." }),
        ),
        hostnameAllowlist: Type.Array(Type.String(), {
          default: [],
          description:
            "If this list is not empty, only these hosts can be opened. An entry is a host name, or *.example.com for all subdomains of example.com.",
        }),
        allowedHostnames: Type.Array(Type.String(), {
          default: [],
          description:
            "Host names that may resolve to private addresses even if the policy otherwise allows only public ones.",
        }),
      },
      { default: {}, additionalProperties: false },
    ),
    cdpUrl: optional(
      Type.String({
        ...SOCKET_ADDRESS,
        description: "The older form of profiles.<name>.cdpUrl, which applies to a single profile.",
      }),
    ),
    remoteCdpTimeoutMs: timerMs({
      default: 1500,
      minimum: 50,
      description:
        "The timeout of the request for a remote browser's /json/version, in milliseconds.",
    }),
    remoteCdpHandshakeTimeoutMs: timerMs({
      default: 3000,
      minimum: 50,
      description: "The timeout of the WebSocket handshake with a remote browser, in milliseconds.",
    }),
    color: Type.String({ default: "#3B6EA8", ...COLOR }),
    headless: optional(
      Type.Boolean({
        description:
          "Whether the browser runs without a window. Default: true if there is no display.",
      }),
    ),
    noSandbox: Type.Boolean({ default: false }),
    attachOnly: Type.Boolean({ default: false }),
    executablePath: optional(Type.String()),
    profiles: Type.Record(Type.String(), ProfileConfig, {
      default: {},
      refuse: refuseNames(PROFILE_NAME, PROFILE_NAME_RULE),
    }),
    snapshotDefaults: Type.Object(
      { mode: optional(Type.Literal("efficient")) },
      { default: {}, additionalProperties: false },
    ),
    evaluateEnabled: Type.Boolean({
      default: true,
      description:
        "Whether the action `evaluate`, and the field `fn` of the action `wait`, are allowed.",
    }),
    maxTabs: Type.Integer({
      default: 50,
      minimum: 1,
      description:
        "The maximum number of open tabs. Above it, the gateway closes new windows as they open.",
    }),
    maxDownloadBytes: Type.Integer({ default: 1_073_741_824, minimum: 1 }),
    launchTimeoutMs: timerMs({ default: 30_000, minimum: 1000 }),
  },
  { default: {}, additionalProperties: false },
);

const credential = optional(Type.Unsafe<string>({}));
/** `gateway.auth`, which the kernel validates. The relay's token is derived from it. */
export const Credentials = Type.Object({ token: credential, password: credential });

/** The part of `agents.defaults.sandbox` that the browser uses; the agent declares the whole. */
export const SandboxConfig = Type.Object({
  mode: Type.Union([Type.Literal("off"), Type.Literal("all")], { default: "off" }),
  browser: Type.Object({
    allowHostControl: Type.Boolean({ default: false }),
    cdpUrl: Type.Optional(Type.String()),
  }),
});

export type SandboxConfig = Static<typeof SandboxConfig>;
export type BrowserConfig = Static<typeof BrowserConfig>;
export type ProfileConfig = Static<typeof ProfileConfig>;

/** True if pages on private addresses may be opened. The older key applies if the newer one is absent. */
export function allowsPrivate({ ssrfPolicy }: BrowserConfig): boolean {
  return ssrfPolicy.dangerouslyAllowPrivateNetwork ?? ssrfPolicy.allowPrivateNetwork ?? true;
}

/** Logs that private addresses are allowed, as a warning only if the configuration sets it explicitly. */
export function logPrivateAccess(config: BrowserConfig, log: Logger): void {
  const { dangerouslyAllowPrivateNetwork, allowPrivateNetwork } = config.ssrfPolicy;
  const isSet = (dangerouslyAllowPrivateNetwork ?? allowPrivateNetwork) !== undefined;
  const reason = `browser.ssrfPolicy.dangerouslyAllowPrivateNetwork is true${isSet ? "" : " by default"}`;
  if (allowsPrivate(config))
    log[isSet ? "warn" : "info"](`browser: pages on private networks can be opened (${reason})`);
}

/** True if the policy restricts the addresses that pages may open. */
export const isStrict = (config: BrowserConfig): boolean =>
  !allowsPrivate(config) || config.ssrfPolicy.hostnameAllowlist.length > 0;
