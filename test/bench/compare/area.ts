/** What is compared: a piece of work that a gateway does, and what it costs. */
import type { Client } from "../chat/chat-load.ts";
import type { BuiltGateway, Subject } from "../harness/built.ts";

/** What a figure is → its value. More is better where the name ends in `/s`, else less. */
export type Reading = Record<string, number>;
export type Round = () => Promise<Reading>;

interface Area<S extends Subject> {
  name: string;
  what: string;
  /** Prepares what the work needs, once for each subject; then come its rounds, in turn with those of the others. */
  begin(subject: S): Round | Promise<Round>;
  /** How many, an even number; default 16. Half of them are with processes that were started in the opposite order. */
  rounds?: number;
  /** Rounds of each half that do not count; default 1. */
  warmUps?: number;
  /** Only a process that has done nothing before tells it: each round has processes of its own, and there is no warm-up. */
  fresh?: boolean;
}

/** Chats by way of a channel to the benchmark's upstream. Reference proxies do the same. */
export interface ChatArea extends Area<Subject> {
  /** Of the upstream; without it, OpenAI's. */
  format?: "anthropic" | "gemini";
  /** The clients', where it is not OpenAI's chat: no proxy knows it. */
  client?: Client;
}

/** What only a gateway does. */
export interface GatewayArea extends Area<BuiltGateway> {
  config?(): object | Promise<object>;
  /** Path below the home → text. */
  files?: Record<string, string>;
}
