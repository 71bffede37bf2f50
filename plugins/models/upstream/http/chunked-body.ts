/** Reads chunked bodies (RFC 9112, section 7.1): data between lines with sizes, extensions and trailers. */
import { parseFieldName, ProtocolError } from "./response-head.ts";

const MAX_LINE_BYTES = 4096;
/** 2^52 bytes are 13 hex digits. */
const MAX_SIZE_DIGITS = 13;

const TAB = 9;
const CR = 13;
const LF = 10;
const SEMICOLON = 59;
const DEL = 127;

/** The element to which the next byte belongs. */
enum State {
  Size,
  SizeExtension,
  /** The LF after a size. */
  SizeEnd,
  Data,
  /** The CR after the data of a chunk. */
  DataEnd,
  /** The LF after that CR. */
  DataLineEnd,
  /** The first byte of a trailer, or the CR of the empty line that ends the body. */
  TrailerStart,
  Trailer,
  /** The LF after a trailer. */
  TrailerEnd,
  /** The LF of the empty line. */
  BodyEnd,
  Complete,
}

export interface DataReceiver {
  /** Called at most once for each `read`. */
  data(bytes: Buffer): void;
}

/** The body of one response. */
export class ChunkedBody {
  readonly #receiver: DataReceiver;
  #state = State.Size;
  /** Remaining bytes of the chunk; while its size is read, the size so far. */
  #remaining = 0;
  #sizeDigits = 0;
  /** Bytes of an extension, or of all trailers together. */
  #lineBytes = 0;
  #trailer = "";

  constructor(receiver: DataReceiver) {
    this.#receiver = receiver;
  }

  get isComplete(): boolean {
    return this.#state === State.Complete;
  }

  /**
   * Reads from a position up to the end of the body or of the bytes, and returns the position after the last byte read.
   * The data of all chunks in the bytes is moved together and passed on in one piece. Throws `ProtocolError`.
   */
  read(bytes: Buffer, from: number): number {
    let at = from;
    let dataStart = -1;
    let dataEnd = -1;
    while (at < bytes.length && this.#state !== State.Complete) {
      if (this.#state !== State.Data) {
        this.#readByte(bytes[at]!);
        at++;
        continue;
      }
      if (dataStart === -1) {
        dataStart = at;
        dataEnd = at;
      }
      const count = Math.min(bytes.length - at, this.#remaining);
      if (dataEnd !== at) bytes.copyWithin(dataEnd, at, at + count);
      dataEnd += count;
      at += count;
      this.#remaining -= count;
      if (this.#remaining === 0) this.#state = State.DataEnd;
    }
    if (dataStart !== -1) this.#receiver.data(bytes.subarray(dataStart, dataEnd));
    return at;
  }

  /** Reads one byte that is not data. */
  #readByte(byte: number): void {
    switch (this.#state) {
      case State.Size:
        this.#readSize(byte);
        return;
      case State.SizeExtension:
        if (byte === CR) this.#state = State.SizeEnd;
        else this.#countLineByte(byte);
        return;
      case State.SizeEnd:
        this.#endSize(byte);
        return;
      case State.DataEnd:
        this.#expect(byte, CR, State.DataLineEnd);
        return;
      case State.DataLineEnd:
        this.#expect(byte, LF, State.Size);
        return;
      case State.TrailerStart:
        this.#startTrailer(byte);
        return;
      case State.Trailer:
        this.#readTrailer(byte);
        return;
      case State.TrailerEnd:
        this.#expect(byte, LF, State.TrailerStart);
        parseFieldName(this.#trailer);
        return;
      case State.BodyEnd:
        this.#expect(byte, LF, State.Complete);
    }
  }

  #readSize(byte: number): void {
    const digit = hexDigit(byte);
    if (digit !== undefined) {
      this.#sizeDigits++;
      if (this.#sizeDigits > MAX_SIZE_DIGITS)
        throw new ProtocolError("a chunk whose size has too many digits");
      this.#remaining = this.#remaining * 16 + digit;
      return;
    }
    if (this.#sizeDigits === 0) throw new ProtocolError("a chunk without a size");
    if (byte === CR) this.#state = State.SizeEnd;
    else if (byte === SEMICOLON) this.#state = State.SizeExtension;
    else throw new ProtocolError("a chunk whose size is not a number");
  }

  /** A chunk of size 0 is the last one. */
  #endSize(byte: number): void {
    this.#expect(byte, LF, this.#remaining === 0 ? State.TrailerStart : State.Data);
    this.#sizeDigits = 0;
    this.#lineBytes = 0;
  }

  #startTrailer(byte: number): void {
    this.#trailer = "";
    this.#state = byte === CR ? State.BodyEnd : State.Trailer;
    if (byte !== CR) this.#readTrailer(byte);
  }

  #readTrailer(byte: number): void {
    if (byte === CR) {
      this.#state = State.TrailerEnd;
      return;
    }
    this.#countLineByte(byte);
    this.#trailer += String.fromCharCode(byte);
  }

  /** Validates and counts one byte of an extension or a trailer, both of which are ignored. */
  #countLineByte(byte: number): void {
    if ((byte < 32 && byte !== TAB) || byte === DEL)
      throw new ProtocolError("a line of the body with a control character");
    this.#lineBytes++;
    if (this.#lineBytes > MAX_LINE_BYTES)
      throw new ProtocolError("a line of the chunked body that is too long");
  }

  #expect(byte: number, expected: number, next: State): void {
    if (byte !== expected) throw new ProtocolError("a missing line end in the chunked body");
    this.#state = next;
  }
}

function hexDigit(byte: number): number | undefined {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : undefined;
}
