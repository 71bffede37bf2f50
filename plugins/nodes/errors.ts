/** Every error of the plugin `nodes`, on the gateway and in the process of `portico node`. */
import { PorticoError } from "portico";

const UNAVAILABLE = { code: "node_unavailable", status: 503 } as const;
const NAME_IN_USE = { code: "node_name_in_use", status: 409 } as const;
const VERSION_MISMATCH = { code: "version_mismatch", status: 426 } as const;
const INVALID = { code: "invalid_request_error" } as const;

export const errors = PorticoError.table({
  // a node asks to be connected
  otherProtocol: {
    ...VERSION_MISMATCH,
    message:
      "This gateway (Portico {version}) uses version {own} of the node protocol, but the node uses version {theirs}. Update the gateway or the node, whichever is older.",
  },
  badNodeName: {
    ...INVALID,
    message:
      "The name of a node must begin with a letter or digit, and may contain only letters, digits, spaces and . _ - (at most 63 characters).",
  },
  badIdentity: { ...INVALID, message: "The header {header} is missing or malformed." },
  nameInUse: {
    ...NAME_IN_USE,
    message: "Another node is connected under the name {name}. Choose another name with --name.",
  },

  // the gateway looks for a node
  nodesOff: {
    ...UNAVAILABLE,
    message: "Nodes are switched off. To use a node, set gateway.nodes.browser.mode to auto.",
  },
  noNode: {
    ...UNAVAILABLE,
    message:
      "No node is connected. Run 'portico node --gateway URL --token T' on the machine with the browser.",
  },
  noNodeAnyMore: {
    ...UNAVAILABLE,
    message:
      "No node is connected any more. The nodes connected most recently were: {names}. A node reconnects automatically while 'portico node' runs on its machine.",
  },
  nodeNotConnected: {
    ...UNAVAILABLE,
    message:
      "Node {name} is not connected{lastSeen}. Run 'portico node --name {name}' on the machine with the browser.",
  },
  nodeWithoutBrowser: {
    ...UNAVAILABLE,
    message:
      "Node {name} offers no browser: nodeHost.browserProxy.enabled or browser.enabled is false in the node's configuration.",
  },

  // a request to a node, as the gateway sees it
  connectionEnded: {
    ...UNAVAILABLE,
    message:
      "The connection to node {name} ended before the node responded. The node reconnects automatically. Try again in a moment.",
  },
  tooManyRequests: {
    ...UNAVAILABLE,
    message: "Node {name} has {count} unanswered requests. Try again later.",
  },
  noAnswer: { code: "timeout", message: "Node {name} did not respond within {ms} ms." },
  uploadStalled: {
    code: "timeout",
    message: "Node {name} stopped receiving a file: it accepted no data for {ms} ms.",
  },
  downloadStalled: {
    code: "timeout",
    message: "Node {name} stopped sending a file: no data arrived for {ms} ms.",
  },
  badAnswer: {
    ...UNAVAILABLE,
    message: "The node sent a response that does not belong to the request.",
  },
  answerFileTooLarge: {
    code: "action_failed",
    message:
      "The node's file has {bytes} bytes, but at most {limit} are accepted (gateway.nodes.maxFileBytes).",
  },
  tooManyFiles: { ...INVALID, message: "A request may have at most {limit} files." },
  uploadTooLarge: {
    ...INVALID,
    message:
      "The file has {bytes} bytes, but at most {limit} may be sent (gateway.nodes.maxFileBytes).",
  },

  // a request, as the node sees it
  browserOff: {
    ...UNAVAILABLE,
    message:
      "This node offers no browser: nodeHost.browserProxy.enabled is false in the node's configuration.",
  },
  receivedFileTooLarge: {
    ...INVALID,
    message: "A file has more than {limit} bytes, which is the maximum.",
  },
  filesStalled: { code: "timeout", message: "The files of the request did not arrive." },
  wrongFileSize: {
    ...UNAVAILABLE,
    message: "The size of a file that arrived differs from its announced size.",
  },
  answerTooLarge: {
    code: "action_failed",
    message: "The response has {bytes} bytes, but a node may send at most {limit}.",
  },

  // `portico node` connects to its gateway
  gatewayMissing: {
    ...INVALID,
    message:
      "The gateway's address is missing. Pass it with --gateway, such as https://gateway.example:18789, or set nodeHost.gateway.",
  },
  tokenMissing: {
    ...INVALID,
    message:
      "The gateway's token is missing. Pass it with --token or in PORTICO_TOKEN, or set nodeHost.token.",
  },
  unusableNodeName: {
    ...INVALID,
    message:
      "{name} cannot be the name of a node. A name must begin with a letter or digit, and may contain only letters, digits, spaces and . _ - (at most 63 characters). Choose another name with --name.",
  },
  /** The gateway's response to the upgrade request. Its details hold the `Refusal` that `explain` in host.ts reads. */
  refused: { code: "refused", message: "The gateway responded with {status}." },
  gatewayUnreachable: {
    ...UNAVAILABLE,
    message: "No gateway can be reached at {gateway} ({reason}).{hint}",
  },
  untrustedCertificate: {
    code: "untrusted_certificate",
    message:
      "The certificate of the gateway at {gateway} is not trusted ({reason}). Set NODE_EXTRA_CA_CERTS to the certificate file of the CA that issued it.",
  },
  tokenRefused: {
    code: "unauthorized",
    message:
      "The gateway at {gateway} refuses the token. Use the token in the gateway's configuration (gateway.auth.token).",
  },
  versionRefused: {
    ...VERSION_MISMATCH,
    message: "The gateway at {gateway} does not accept this version of Portico. {reason}",
  },
  nameRefused: {
    ...NAME_IN_USE,
    message: "The gateway at {gateway} does not accept the name {name}. {reason}",
  },
  notAGateway: {
    code: "not_found",
    message:
      "The server at {gateway} does not accept nodes. Check that it is a Portico gateway and that its nodes plugin is on.",
  },
  nodeRefused: {
    code: "forbidden",
    message: "The gateway at {gateway} refuses this node. {reason}",
  },
  gatewayNotReady: {
    ...UNAVAILABLE,
    message: "The gateway at {gateway} accepts no node at the moment. {reason}",
  },
});
