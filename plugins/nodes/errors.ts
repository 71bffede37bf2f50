/** The plugin's own error codes and their HTTP statuses. */
export const errors = {
  node_unavailable: 503,
} as const;
