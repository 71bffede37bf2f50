/** The plugin's own error codes and their HTTP statuses. */
export const errors = {
  storage_full: 507,
} as const;
