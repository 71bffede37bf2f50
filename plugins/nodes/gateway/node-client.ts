/** A connected node: sends requests to it, receives the answers, and fails pending requests when it disconnects. */
import { PorticoError } from "portico";
import { errors } from "../errors.ts";
import { Incoming, memorySink } from "../incoming.ts";
import type { NodeSocket } from "../node-socket.ts";
import type { BrowserRequest, BrowserResponse, WhyProtected } from "portico/browser";
import {
  type Chunk,
  type FromNode,
  MAX_MESSAGE,
  setAt,
  type ToNode,
  valueAt,
  type WireError,
} from "../wire.ts";
import { Pending } from "./pending.ts";
import { packRequest } from "./request-files.ts";

const MAX_IN_FLIGHT = 256;

interface NodeClientOptions {
  name: string;
  nodeSocket: NodeSocket;
  /** `<os tmp>/portico` */
  tmp: string;
  whyProtected?: WhyProtected;
  maxFileBytes(): number;
}

export class NodeClient {
  readonly #options: NodeClientOptions;
  readonly #pending = new Map<number, Pending>();
  #id = 0;
  #connectionError: PorticoError | undefined;

  constructor(options: NodeClientOptions) {
    this.#options = options;
  }

  get inFlight(): number {
    return this.#pending.size;
  }

  /** Fails every pending request, because the connection has ended. */
  connectionEnded(): void {
    const { name } = this.#options;
    this.#connectionError = errors.connectionEnded({ name }, { headers: { "retry-after": "2" } });
    for (const pending of this.#pending.values()) pending.fail(this.#connectionError);
  }

  async request(
    request: BrowserRequest,
    { deadlineMs, orDefaultProfile }: { deadlineMs: number; orDefaultProfile: boolean },
  ): Promise<BrowserResponse> {
    const { name, nodeSocket, tmp, maxFileBytes, whyProtected } = this.#options;
    if (this.#pending.size >= MAX_IN_FLIGHT) {
      throw errors.tooManyRequests(
        { name, count: MAX_IN_FLIGHT },
        { headers: { "retry-after": "1" } },
      );
    }
    const packed = await packRequest(request, name, tmp, maxFileBytes(), whyProtected);
    if (this.#connectionError !== undefined) throw this.#connectionError;
    this.#id = (this.#id % 0xffff_fffe) + 1;
    const id = this.#id;
    const send = (message: ToNode): Promise<void> => nodeSocket.send(message);
    const pending = new Pending({
      node: name,
      packed,
      deadlineMs,
      onEnd: () => this.#pending.delete(id),
      onGiveUp: () => void send({ t: "cancel", id }),
    });
    this.#pending.set(id, pending);
    const { files } = packed;
    if (files.length === 0) pending.startDeadline();
    else pending.startSending();
    const announced = send({ t: "request", id, request: packed.request, orDefaultProfile, files });
    void announced
      .then(() => this.#sendFiles(id, pending))
      .catch((error: unknown) => pending.giveUp(error));
    return pending.answer;
  }

  async #sendFiles(id: number, pending: Pending): Promise<void> {
    const { files, read } = pending.packed;
    if (files.length === 0) return;
    const isWanted = (): boolean => this.#pending.has(id);
    const callbacks = { isWanted, sent: () => pending.noteProgress() };
    for (const i of files.keys()) {
      const isSent = await this.#options.nodeSocket.stream(id, i, read(i), callbacks);
      if (!isSent) return;
    }
    pending.startDeadline();
  }

  handleChunk({ id, stream, content }: Chunk): Promise<void> {
    const pending = this.#pending.get(id);
    pending?.noteProgress();
    return pending?.incoming.get(stream)?.take(content) ?? Promise.resolve();
  }

  handleAnswer(message: Extract<FromNode, { id: number }>): void {
    const pending = this.#pending.get(message.id);
    if (pending === undefined) return;
    if (message.t === "error") {
      pending.fail(parseError(message.error));
      return;
    }
    if (!pending.isAnswering)
      pending.receiveAnswer(
        message.t === "bytes"
          ? this.#receiveBytes(pending, message)
          : this.#receiveBody(pending, message),
      );
  }

  async #receiveBytes(
    pending: Pending,
    { type, size }: { type: string; size: number },
  ): Promise<BrowserResponse> {
    if (!/^[\w.+-]+\/[\w.+-]+$/.test(type)) throw errors.badAnswer();
    if (size > MAX_MESSAGE) throw errors.answerFileTooLarge({ bytes: size, limit: MAX_MESSAGE });
    const sink = memorySink();
    const incoming = new Incoming(Promise.resolve(sink), size);
    pending.incoming.set(0, incoming);
    await incoming.done;
    return { bytes: sink.content(), type };
  }

  async #receiveBody(
    { packed, incoming }: Pending,
    { id, body, files }: Extract<FromNode, { t: "answer" }>,
  ): Promise<BrowserResponse> {
    const [file] = files;
    const { answerPath: at } = packed;
    if (file === undefined) {
      // A path on the node's machine has no meaning on this one.
      if (at !== undefined && valueAt(body, at) !== undefined) setAt(body, at, null);
      return { body };
    }
    const limit = this.#options.maxFileBytes();
    if (at === undefined || files.length > 1) throw errors.badAnswer();
    if (file.size > limit) throw errors.answerFileTooLarge({ bytes: file.size, limit });
    const incomingFile = new Incoming(packed.sink(String(file.name)), file.size);
    incoming.set(0, incomingFile);
    setAt(body, at, await incomingFile.done);
    // The file is stored here, so the node may remove its copy.
    void this.#options.nodeSocket.send({ t: "received", id } satisfies ToNode);
    return { body };
  }
}

/** The error that the node sent, with its own code and message, if it has the form of an error. */
function parseError({ code, message, status, param, details }: WireError): PorticoError {
  const isPlain =
    typeof code === "string" && /^[a-z][a-z0-9_]{0,63}$/.test(code) && typeof message === "string";
  if (!isPlain || !Number.isInteger(status) || status < 400 || status > 599)
    return errors.badAnswer();
  return new PorticoError(code, message.slice(0, 4000), {
    // A 401 concerns the gateway's access to the node, not the caller's access to the gateway.
    status: status === 401 ? 502 : status,
    ...(typeof param === "string" ? { param } : {}),
    ...(typeof details === "object" && details !== null ? { details } : {}),
  });
}
