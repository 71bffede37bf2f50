/** The areas of a comparison: each is a kind of work that a gateway does, whose cost is measured. */
import type { Client } from "../chat/chat-load.ts";
import type { BuiltGateway, Subject } from "../harness/built.ts";

/** Values by the names of figures. Higher is better if the name ends in `/s`, else lower. */
export type Reading = Record<string, number>;
export type Round = () => Promise<Reading>;

interface Area<S extends Subject> {
  name: string;
  what: string;
  /** Prepares the work, once for each subject. Returns its round; the rounds of all subjects alternate. */
  begin(subject: S): Round | Promise<Round>;
  /**
   * The number of rounds, which must be even; default 16. For half of them, the processes are started in the opposite
   * order.
   */
  rounds?: number;
  /** The number of rounds in each half that do not count; default 1. */
  warmUps?: number;
  /** If true, each round uses new processes without a warm-up, because earlier work would change the result. */
  fresh?: boolean;
}

/** Chats through a channel to the benchmark's upstream. Reference proxies do the same work. */
export interface ChatArea extends Area<Subject> {
  /** The upstream's format. The default is OpenAI's. */
  format?: "anthropic" | "gemini";
  /** The clients' format, if it is not OpenAI's chat. The proxies do not support it. */
  client?: Client;
}

/** Work that only a gateway does. */
export interface GatewayArea extends Area<BuiltGateway> {
  config?(): object | Promise<object>;
  /** Files to write: path below the home → text. */
  files?: Record<string, string>;
}
