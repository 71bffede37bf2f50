/** The nodes' part of `portico.json`: settings of a gateway for its nodes, and settings of a node. */
import { type Static, timerMs, Type } from "portico";
import { SOCKET_ADDRESS } from "portico/strings";

/** `gateway.nodes` */
export const NodesConfig = Type.Object(
  {
    browser: Type.Object(
      {
        mode: Type.Union([Type.Literal("auto"), Type.Literal("off")], {
          default: "auto",
          description:
            "When the gateway uses a browser on a node. auto: for a profile that names a node, or if the gateway has no local browser; off: never.",
        }),
      },
      { default: {} },
    ),
    heartbeatMs: timerMs({
      default: 5000,
      minimum: 100,
      description:
        "The interval at which the gateway checks the connection of a node, in milliseconds. A node that is silent for more than 2.5 intervals counts as disconnected.",
    }),
    maxFileBytes: Type.Integer({
      default: 1_073_741_824,
      minimum: 1,
      description:
        "The maximum size of a file that the gateway accepts from a node or sends to a node, in bytes.",
    }),
  },
  { default: {} },
);

/** `nodeHost` */
export const NodeHostConfig = Type.Object(
  {
    gateway: Type.Optional(
      Type.String({
        ...SOCKET_ADDRESS,
        description: "The address of the gateway to which `portico node` connects.",
      }),
    ),
    token: Type.Optional(
      Type.String({
        minLength: 1,
        secret: true,
        description: "The token of the gateway to which `portico node` connects.",
      }),
    ),
    name: Type.Optional(
      Type.String({ description: "The name of this node on the gateway. Default: the host name." }),
    ),
    browserProxy: Type.Object(
      {
        enabled: Type.Boolean({
          default: true,
          description: "Whether this node offers its browser to the gateway.",
        }),
      },
      { default: {} },
    ),
  },
  {
    default: {},
    description:
      "Settings for running this machine as a node, so that a gateway on another machine can use its browser.",
  },
);

const credential = Type.Optional(Type.Unsafe<string>({}));
/** `gateway.auth`: the credentials by which nodes connect. The kernel validates it. */
export const Credentials = Type.Object({ token: credential, password: credential });

export type Credentials = Static<typeof Credentials>;
export type NodesConfig = Static<typeof NodesConfig>;
export type NodeHostConfig = Static<typeof NodeHostConfig>;
