/** Reads the size of a PNG or JPEG image from its header. Returns zeros for other formats. */
export function readImageSize(image: Buffer): { width: number; height: number } {
  if (image.length > 24 && image.readUInt32BE(0) === 0x89504e47) {
    return { width: image.readUInt32BE(16), height: image.readUInt32BE(20) };
  }
  // A JPEG consists of segments with marker and length; the start-of-frame segment contains the size.
  for (let at = 2; at + 9 < image.length && image[at] === 0xff; ) {
    const marker = image[at + 1]!;
    const isFrameStart = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrameStart)
      return { height: image.readUInt16BE(at + 5), width: image.readUInt16BE(at + 7) };
    at += 2 + image.readUInt16BE(at + 2);
  }
  return { width: 0, height: 0 };
}
