/** Encodes model names in URLs. A name is client input, and must not lead to any path but that of a model. */
import { refused } from "./fields.ts";

/**
 * Encodes a model's name as one segment of a URL's path. Throws `invalid_request_error` for `.` and `..`, which a URL parser
 * treats as directories even if they are encoded (WHATWG URL, "double-dot URL path segment"), and for half a surrogate
 * pair, which no URL can contain.
 */
export function pathSegment(name: string): string {
  if (/^(?:\.|%2e){1,2}$/i.test(name) || name === "" || /\p{Surrogate}/u.test(name))
    throw refused("model", "This is not a valid name of a model");
  return encodeURIComponent(name);
}

/** As `pathSegment`, for names whose slashes separate segments of the path. */
export function pathSegments(name: string): string {
  return name.split("/").map(pathSegment).join("/");
}
