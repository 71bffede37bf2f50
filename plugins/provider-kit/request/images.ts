/** Reads the bytes of an image, for providers that need bytes. */
import { isPorticoError, PorticoError } from "portico";
import { createGuard } from "portico/egress";
import type { ImagePart } from "../types/conversation.ts";
import type { Target } from "../types/provider.ts";
import { imageType } from "./image-type.ts";
import { refused } from "./fields.ts";

/** The function with which a target fetches images, under the SSRF guard. */
export interface ImageSource {
  fetchImage(url: string): Promise<{ mediaType: string; data: Buffer }>;
}

/** The usual form of an image: a `data:` URL of well-formed base64. */
const BASE64_URL = /^data:(image\/[a-z0-9.+-]+);base64,([A-Za-z0-9+/]+={0,2})$/;

/** The registered names of types by other common names. Providers accept only registered names. */
const REGISTERED_TYPES: Record<string, string> = {
  "image/jpg": "image/jpeg",
  "image/pjpeg": "image/jpeg",
};
const registeredType = (mediaType: string) => REGISTERED_TYPES[mediaType] ?? mediaType;

/**
 * Parses a `data:` URL, or fetches an http(s) one. Throws `invalid_request_error` (400) with `param` for any other URL, and
 * if the image cannot be fetched.
 */
export async function readImage(
  part: ImagePart,
  source: ImageSource,
): Promise<{ mediaType: string; base64: string }> {
  // The usual form is passed on unchanged, without decoding it to bytes.
  const [, declaredType, base64] = BASE64_URL.exec(part.url) ?? [];
  if (declaredType !== undefined && base64 !== undefined)
    return { mediaType: registeredType(declaredType), base64 };
  const param = `${part.path}.url`;
  if (!/^(data|https?):/i.test(part.url))
    throw refused(param, "An image URL must begin with data:, http: or https:");
  try {
    const image = await source.fetchImage(part.url);
    // The type that a server declares is as unreliable as a client's.
    const mediaType = imageType(image.data) ?? registeredType(image.mediaType);
    return { mediaType, base64: image.data.toString("base64") };
  } catch (error) {
    if (!isPorticoError(error) || error.status !== 400) throw error;
    throw new PorticoError(error.code, error.message, { status: 400, param, cause: error });
  }
}

/**
 * Returns the http(s) URL of an image that the provider fetches by itself; undefined for any other URL. Throws
 * `invalid_request_error` (400) with `param` for an address in a private network, unless the channel's `allowPrivateImages`
 * allows it, as for images that the gateway fetches.
 */
export function webImage(
  part: ImagePart,
  { options }: Pick<Target, "options">,
): string | undefined {
  if (!/^https?:/i.test(part.url)) return undefined;
  const allowPrivate = options["allowPrivateImages"] === true;
  try {
    createGuard({ policy: () => ({ allowPrivate }), ownPorts: () => [] }).precheck(part.url);
  } catch (error) {
    throw refused(
      `${part.path}.url`,
      `The image cannot be fetched from this URL: ${(error as Error).message}`,
    );
  }
  return part.url;
}
