/** One connected node: requests to it, their answers, and what becomes of them when it goes. */
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
import { pack } from "./request-files.ts";

const MOST_IN_FLIGHT = 256;

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
  #gone: PorticoError | undefined;

  constructor(options: NodeClientOptions) {
    this.#options = options;
  }

  get inFlight(): number {
    return this.#pending.size;
  }

  /** Every request that waits for the node fails. */
  ended(): void {
    const { name } = this.#options;
    this.#gone = errors.connectionEnded({ name }, { headers: { "retry-after": "2" } });
    for (const pending of this.#pending.values()) pending.fail(this.#gone);
  }

  async request(
    request: BrowserRequest,
    { deadlineMs, orDefaultProfile }: { deadlineMs: number; orDefaultProfile: boolean },
  ): Promise<BrowserResponse> {
    const { name, nodeSocket, tmp, maxFileBytes, whyProtected } = this.#options;
    if (this.#pending.size >= MOST_IN_FLIGHT) {
      throw errors.tooManyRequests(
        { name, count: MOST_IN_FLIGHT },
        { headers: { "retry-after": "1" } },
      );
    }
    const packed = await pack(request, name, tmp, maxFileBytes(), whyProtected);
    if (this.#gone !== undefined) throw this.#gone;
    this.#id = (this.#id % 0xffff_fffe) + 1;
    const id = this.#id;
    const send = (message: ToNode): Promise<void> => nodeSocket.send(message);
    const pending = new Pending({
      node: name,
      packed,
      deadlineMs,
      over: () => this.#pending.delete(id),
      gaveUp: () => void send({ t: "cancel", id }),
    });
    this.#pending.set(id, pending);
    const { files } = packed;
    if (files.length === 0) pending.sent();
    else pending.sending();
    const announced = send({ t: "request", id, request: packed.request, orDefaultProfile, files });
    void announced
      .then(() => this.#sendFiles(id, pending))
      .catch((error: unknown) => pending.giveUp(error));
    return pending.answer;
  }

  async #sendFiles(id: number, pending: Pending): Promise<void> {
    const { files, read } = pending.packed;
    if (files.length === 0) return;
    const goesOn = (): boolean => this.#pending.has(id);
    for (let i = 0; i < files.length; i++) {
      if (
        !(await this.#options.nodeSocket.stream(id, i, read(i), {
          goesOn,
          sent: () => pending.moved(),
        }))
      )
        return;
    }
    pending.sent();
  }

  chunk({ id, stream, content }: Chunk): Promise<void> {
    const pending = this.#pending.get(id);
    pending?.moved();
    return pending?.incoming.get(stream)?.take(content) ?? Promise.resolve();
  }

  answered(message: Extract<FromNode, { id: number }>): void {
    const pending = this.#pending.get(message.id);
    if (pending === undefined) return;
    if (message.t === "error") {
      pending.fail(errorOf(message.error));
      return;
    }
    if (!pending.isAnswering)
      pending.answering(
        message.t === "bytes" ? this.#bytes(pending, message) : this.#body(pending, message),
      );
  }

  async #bytes(
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

  async #body(
    { packed, incoming }: Pending,
    { id, body, files }: Extract<FromNode, { t: "answer" }>,
  ): Promise<BrowserResponse> {
    const [file] = files;
    const { at } = packed;
    if (file === undefined) {
      // A path of the node's own means nothing here.
      if (at !== undefined && valueAt(body, at) !== undefined) setAt(body, at, null);
      return { body };
    }
    const most = this.#options.maxFileBytes();
    if (at === undefined || files.length > 1) throw errors.badAnswer();
    if (file.size > most) throw errors.answerFileTooLarge({ bytes: file.size, limit: most });
    const coming = new Incoming(packed.sink(String(file.name)), file.size);
    incoming.set(0, coming);
    setAt(body, at, await coming.done);
    // Only now the node may remove what it has.
    void this.#options.nodeSocket.send({ t: "received", id } satisfies ToNode);
    return { body };
  }
}

/** The error that the node sent, with its own code and message, if it has the form of an error. */
function errorOf({ code, message, status, param, details }: WireError): PorticoError {
  const isPlain =
    typeof code === "string" && /^[a-z][a-z0-9_]{0,63}$/.test(code) && typeof message === "string";
  if (!isPlain || !Number.isInteger(status) || status < 400 || status > 599)
    return errors.badAnswer();
  return new PorticoError(code, message.slice(0, 4000), {
    // A node's own refusals of the gateway are no refusals of the caller.
    status: status === 401 ? 502 : status,
    ...(typeof param === "string" ? { param } : {}),
    ...(typeof details === "object" && details !== null ? { details } : {}),
  });
}
