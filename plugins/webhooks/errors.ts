/** The plugin's own error codes and their HTTP statuses. */
export const errors = {
  no_mapping: 404,
} as const;
