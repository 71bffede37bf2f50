/** Keys of the configuration that a running gateway does not change. */
export const AT_NEXT_START = ["gateway.port", "gateway.bind", "store.url", "log.file", "agents.defaults.workspace"];
