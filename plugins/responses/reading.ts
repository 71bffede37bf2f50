/** Members that the translation of one request into chat's form leaves out, and reasons why it cannot be translated. */
import type { PorticoError } from "portico";
import { refused } from "portico/provider";

export class Reading {
  /** Paths of members whose loss the response headers name. */
  readonly dropped: string[] = [];
  /** Why no channel of another format can answer the request. A channel of this format gets it unchanged. */
  refusal: PorticoError | undefined;
  /** The client wants a summary of the conversation in place of an answer. */
  compacts = false;

  drop(path: string): void {
    this.dropped.push(path);
  }

  /** The client gets the first refusal. */
  refuse(param: string, message: string): void {
    this.refusal ??= refused(param, message);
  }
}
