/** Every error of the plugin `agent`. */
import { PorticoError } from "portico";

export const errors = PorticoError.table({
  // turns
  unknownTurn: {
    code: "not_found",
    message: "There is no turn {id}. `portico turns list` shows the newest turns.",
  },
  unknownSession: {
    code: "not_found",
    message: "There is no session {id}. `portico sessions list` shows all sessions.",
  },
  turnNotEnded: { code: "timeout", message: "The turn {id} has not ended yet." },
  turnTooLong: { code: "timeout", message: "The turn did not end within {ms} ms." },
  turnStopped: { code: "cancelled", status: 409, message: "The turn was stopped." },
  gatewayStopping: {
    code: "service_unavailable",
    message: "The gateway is stopping. Try again in a moment.",
  },
  cutOffTooOften: {
    code: "attempts_exhausted",
    status: 500,
    message:
      "The gateway stopped {times} times while the turn was running, so the turn will not be started again. Replay it with `portico turns replay`.",
  },
  neitherDeadNorCancelled: {
    code: "conflict",
    message: "Only a dead or cancelled turn can be replayed.",
  },

  // decisions of the owner
  nothingToDecide: {
    code: "conflict",
    message: "No tool call in the turn {id} is waiting for a decision.",
  },
  alreadyDecided: { code: "conflict", message: "The call {callId} of {tool} is already {answer}." },
  unknownCall: {
    code: "not_found",
    message: "No call {callId} is waiting for a decision. The calls that are waiting: {waiting}.",
  },
  severalCalls: {
    code: "conflict",
    message: "Several calls are waiting for a decision. Name one of them: {waiting}.",
  },

  // who may do what
  unknownAgent: {
    code: "model_not_found",
    message:
      "There is no agent {agent}. Add it to agents.list, or use one of the agents in GET /v1/models.",
  },
  noWorkingKey: {
    code: "forbidden",
    message:
      "There is no working client key for {principal}, so nothing can run on its behalf. `portico keys list` shows the keys and their state.",
  },
  unknownPrincipal: { code: "not_found", message: "The principal {principal} does not exist." },
  notAPrincipal: {
    code: "invalid_request_error",
    message: "{text} is not a principal. Use owner, outside, key:NAME, webhook:NAME or poll:NAME.",
  },
  storageFull: {
    code: "storage_full",
    message:
      "The sessions and files of {principal} use {used} of their {quota} bytes (agents.defaults.quotaBytes), so {bytes} more bytes do not fit. Delete sessions, or shorten files.",
  },

  // requests
  emptySessionName: {
    code: "invalid_request_error",
    message: "The name of the session has no visible characters. Choose another name.",
  },
  severalAnswers: {
    code: "invalid_request_error",
    message: "An agent returns one response. Leave out `n`.",
  },
  noUserMessage: {
    code: "invalid_request_error",
    message: "An agent's turn needs a message with the role `user`.",
  },

  // models
  noChoice: {
    code: "upstream_error",
    status: 502,
    message: "The model's response has no choices.",
  },
  agentAsModel: {
    code: "invalid_request_error",
    message:
      "An agent cannot be its own model. Set agents.defaults.model to a model of GET /v1/models other than {model}.",
  },
});
