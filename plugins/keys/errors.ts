/** The plugin's own error codes and their HTTP statuses. */
export const errors = {
  address_not_allowed: 403,
} as const;
