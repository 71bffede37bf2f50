/** Merges headers. Those of the channel override the provider's, in any case. The returned names are in lower case. */
export function withHeaders(
  provider: Record<string, string>,
  channel: Record<string, string>,
): Record<string, string> {
  const headers = { ...provider };
  for (const [name, value] of Object.entries(channel)) headers[name.toLowerCase()] = value;
  return headers;
}

/** Returns the headers of a channel whose key is a bearer token. */
export function bearerHeaders(target: {
  apiKey?: string;
  headers: Record<string, string>;
}): Record<string, string> {
  return withHeaders(
    target.apiKey === undefined ? {} : { authorization: `Bearer ${target.apiKey}` },
    target.headers,
  );
}
