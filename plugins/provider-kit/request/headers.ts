/** A channel's own headers win over the provider's, in any spelling. Names come out in lower case. */
export function withHeaders(
  own: Record<string, string>,
  channel: Record<string, string>,
): Record<string, string> {
  const headers = { ...own };
  for (const [name, value] of Object.entries(channel)) headers[name.toLowerCase()] = value;
  return headers;
}

/** The headers of a channel whose key is a bearer token. */
export function bearerHeaders(target: {
  apiKey?: string;
  headers: Record<string, string>;
}): Record<string, string> {
  return withHeaders(
    target.apiKey === undefined ? {} : { authorization: `Bearer ${target.apiKey}` },
    target.headers,
  );
}
