/** Reads the bytes of an image, for providers that need bytes. */
import { isPorticoError, PorticoError } from "portico";
import { createGuard } from "portico/egress";
import type { ImagePart } from "../types/conversation.ts";
import type { Target } from "../types/provider.ts";
import { imageType } from "./image-type.ts";
import { refused } from "./fields.ts";

/** What a target can fetch with, under the guard. */
export interface ImageSource {
  fetchImage(url: string): Promise<{ mediaType: string; data: Buffer }>;
}

const PLAIN = /^data:(image\/[a-z0-9.+-]+);base64,([A-Za-z0-9+/]+={0,2})$/;

/** Names that clients and servers use for registered types, which are all that providers take. */
const REGISTERED: Record<string, string> = {
  "image/jpg": "image/jpeg",
  "image/pjpeg": "image/jpeg",
};
const registered = (mediaType: string) => REGISTERED[mediaType] ?? mediaType;

/**
 * Takes a `data:` URL apart, or fetches an http one. Throws `invalid_request_error` (400) with `param` for any other kind
 * and for one that cannot be had.
 */
export async function readImage(
  part: ImagePart,
  source: ImageSource,
): Promise<{ mediaType: string; base64: string }> {
  // The usual form is passed on unchanged, without decoding it to bytes.
  const [, named, base64] = PLAIN.exec(part.url) ?? [];
  if (named !== undefined && base64 !== undefined) return { mediaType: registered(named), base64 };
  const param = `${part.path}.url`;
  if (!/^(data|https?):/i.test(part.url))
    throw refused(param, "An image URL must begin with data:, http: or https:");
  try {
    const image = await source.fetchImage(part.url);
    // A server's word for the type is as good as a client's.
    const mediaType = imageType(image.data) ?? registered(image.mediaType);
    return { mediaType, base64: image.data.toString("base64") };
  } catch (error) {
    if (!isPorticoError(error) || error.status !== 400) throw error;
    throw new PorticoError(error.code, error.message, { status: 400, param, cause: error });
  }
}

/**
 * The http address of an image that the provider fetches by itself; undefined for any other. Throws
 * `invalid_request_error` (400) with `param` for one of a private network, as for images that the gateway fetches: only
 * the channel's `allowPrivateImages` allows it.
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
