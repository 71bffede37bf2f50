/** The plugin's own error codes and their HTTP statuses. */
export const errors = {
  navigation_blocked: 403,
  evaluate_disabled: 403,
  tab_not_found: 404,
  profile_not_found: 404,
  ref_not_found: 404,
  browser_not_running: 409,
  trace_running: 409,
  action_failed: 422,
  library_unavailable: 501,
  browser_disabled: 503,
} as const;
