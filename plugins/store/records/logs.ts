/** Transcripts, deliveries and runs. Times are milliseconds since 1970. */

export interface Session {
  id: string;
  createdAt: number;
  updatedAt: number;
  messages: number;
  meta: Record<string, unknown>;
}

export interface NewMessage {
  role: string;
  /** The whole message in the OpenAI format, or in the format that its owner needs. */
  body: unknown;
  turnId?: string;
  at?: number;
}

export interface StoredMessage {
  seq: number;
  role: string;
  body: unknown;
  turnId?: string;
  at: number;
}

export interface NewDelivery {
  id: string;
  at?: number;
  /** The endpoint or mapping that received it. */
  source: string;
  /** One of its owner's values, such as `accepted`, `duplicate` or `refused`. */
  outcome: string;
  /** The id of the event or turn that it became. */
  itemId?: string;
  /** Small data with masked secrets: status, headers, address. */
  meta?: Record<string, unknown>;
  /** The raw body, if the log keeps it. */
  payload?: string;
}

export interface Delivery {
  id: string;
  at: number;
  source: string;
  outcome: string;
  itemId?: string;
  meta: Record<string, unknown>;
}

export interface Run {
  id: string;
  owner: string;
  at: number;
  /** One of its owner's values, such as `running`, `ok`, `error` or `skipped`. */
  status: string;
  endedAt?: number;
  itemId?: string;
  data?: unknown;
}
