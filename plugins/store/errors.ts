/** The plugin's own error codes and their HTTP statuses. */
export const errors = {
  store_unavailable: 503,
} as const;
