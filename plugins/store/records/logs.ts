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
  /** The whole message in OpenAI's form, or whatever its owner needs. */
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
  /** Which endpoint or mapping. */
  source: string;
  /** `accepted`, `duplicate`, `refused`, … the owner's words. */
  outcome: string;
  /** The event or turn that it became. */
  itemId?: string;
  /** Small and masked: status, headers, address. */
  meta?: Record<string, unknown>;
  /** The raw body, where it is kept. */
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
  /** `running`, `ok`, `error`, `skipped`, … the owner's words. */
  status: string;
  endedAt?: number;
  itemId?: string;
  data?: unknown;
}
