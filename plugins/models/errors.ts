/** The plugin's own error codes and their HTTP statuses. */
export const errors = {
  model_not_found: 404,
  unsupported_endpoint: 400,
  context_length_exceeded: 400,
  upstream_error: 502,
  upstream_auth: 502,
  upstream_overloaded: 503,
  upstream_timeout: 504,
} as const;
