/** Model names in addresses: a name is the client's own words, and may lead nowhere but to a model. */
import { refused } from "./fields.ts";

/**
 * A model's name as one segment of a URL's path. Throws `invalid_request_error` for `.` and `..`, which a URL takes for
 * directories even where they are encoded (WHATWG URL, "double-dot URL path segment"), and for half a surrogate pair,
 * which no URL can hold.
 */
export function pathSegment(name: string): string {
  if (/^(?:\.|%2e){1,2}$/i.test(name) || name === "" || /\p{Surrogate}/u.test(name))
    throw refused("model", "This is not a model's name");
  return encodeURIComponent(name);
}

/** As `pathSegment`, for names whose slashes are slashes of the address. */
export function pathSegments(name: string): string {
  return name.split("/").map(pathSegment).join("/");
}
