/** The nodes' part of `portico.json`: what a gateway does with nodes, and what a node is. */
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
            "auto: a profile that names a node, or a gateway without a browser, uses a node; off: never.",
        }),
      },
      { default: {} },
    ),
    heartbeatMs: timerMs({
      default: 5000,
      minimum: 100,
      description:
        "How often the gateway checks the connection of a node. A node that is silent for more than two and a half times as long counts as disconnected.",
    }),
    maxFileBytes: Type.Integer({
      default: 1_073_741_824,
      minimum: 1,
      description: "The largest file that the gateway accepts from a node or sends to one.",
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
        description: "The gateway's address, for `portico node`.",
      }),
    ),
    token: Type.Optional(
      Type.String({ minLength: 1, secret: true, description: "The gateway's token." }),
    ),
    name: Type.Optional(
      Type.String({ description: "The name of this node on the gateway; default: the host name." }),
    ),
    browserProxy: Type.Object(
      {
        enabled: Type.Boolean({
          default: true,
          description: "false: this node offers no browser to the gateway.",
        }),
      },
      { default: {} },
    ),
  },
  {
    default: {},
    description: "This machine as a node: the browser that it lends to a gateway elsewhere.",
  },
);

const credential = Type.Optional(Type.Unsafe<string>({}));
/** `gateway.auth`, of which the kernel says what is valid: what nodes have come in by. */
export const Credentials = Type.Object({ token: credential, password: credential });

export type Credentials = Static<typeof Credentials>;
export type NodesConfig = Static<typeof NodesConfig>;
export type NodeHostConfig = Static<typeof NodeHostConfig>;
