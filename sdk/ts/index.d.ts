export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Role = "user" | "assistant" | "system";
export type Scope = "session" | "user" | "app" | "temp";

export interface RetentionWords {
  ttlDays?: number;
  autoPrune?: boolean;
  /** keep_last_N, sliding_window, keep_important or summarize_old. */
  pruneStrategy?: string;
  maxMessages?: number;
  immutable?: boolean;
  holdReason?: string;
}

export interface Options {
  userId?: string;
  metadata?: { [name: string]: Json };
  /** How long messages are in sight. A session that is there keeps its own: `onError` is told where it differs. */
  retention?: RetentionWords;
  title?: string;
  /** COUNTERSIGN_URL stands in for it. */
  url?: string;
  /** COUNTERSIGN_API_KEY stands in for it; the role `agent` is enough. */
  apiKey?: string;
  /** Bytes that wait for the desk; what comes after them is dropped, and the log says how many. */
  limit?: number;
  /** What waits at the limit: "drop" leaves out new events, "wait" keeps them, and `turn`, `toolCall`, `room` wait. */
  whenFull?: "drop" | "wait";
  /** Throw what cannot be recorded in place of telling `onError`. */
  strict?: boolean;
  /** Folder in which events wait on disk, in Node; COUNTERSIGN_SPOOL stands in for it, `false` is none. */
  spool?: string | false;
  /** Told what goes wrong without being asked for; the default warns on the console. */
  onError?: (error: Error) => void;
}

export interface Message {
  seq: number;
  role: Role;
  text: string;
  /** Null for the summary that stands in place of what was pruned. */
  at: string | null;
  name: string | null;
}

export interface SessionEvent {
  seq: number;
  kind: string;
  text: string | null;
  at: string;
  [name: string]: unknown;
}

export interface Usage {
  model: string;
  inputTokens?: number;
  outputTokens?: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  reasoningTokens?: number;
  /** US dollars as text; without it the desk prices the tokens. */
  cost?: string;
  data?: { [name: string]: Json };
  clientId?: string;
}

/** A vector, and the name of the model that made it: vectors of two models are not compared. */
export interface Embedding {
  model: string;
  vector: number[];
}

export interface FoundValue {
  key: string;
  value: Json;
  version: number;
  at: string;
  by: string;
  /** What it was found by: vectors where an embedding was given and the desk's database has pgvector. */
  method: "pgvector" | "full text";
  score: number;
}

export interface Question {
  server?: string;
  context?: string;
  risk?: string;
  /** Seconds until nobody may decide any more. */
  expiresIn?: number;
  clientId?: string;
  /** Milliseconds; without it until it is decided. */
  wait?: number;
}

export interface Decision {
  /** Whether the call may run, and then only with `arguments`. */
  allowed: boolean;
  /** Of the approval; `pending` where the wait ended first, `failed` where there is no answer. */
  status: string;
  reason: string;
  edited: boolean;
  answer?: string;
  by?: string;
  approvalId?: string;
  digest?: string;
  arguments?: { [name: string]: Json };
}

export interface Progress {
  waiting: number;
  missing: number;
  sent: number;
  repeated: number;
  refused: number;
  fault: string;
}

/** What one pruning took, or with `dry_run` what it would take. */
export interface Pruned {
  /** Null for a dry run, and where nothing was to be taken. */
  id: string | null;
  rule: string;
  /** `rules`, or the model that was asked. */
  method: string;
  /** Messages that went out of sight. */
  pruned: number;
  kept: number;
  /** Rows of the log that went with them. */
  events: number;
  spans: { first_seq: number; last_seq: number; messages: number }[];
  summary: string | null;
  dry_run: boolean;
}

/** As the desk answers it: the policy, what is due by it, and what was pruned. */
export interface Retention {
  session_id: string;
  ttl_days: number | null;
  auto_prune: boolean;
  prune_strategy: string;
  max_messages: number | null;
  immutable: boolean;
  hold_reason: string;
  messages_in_sight: number;
  due: { what: string; rule: string; messages: number } | null;
  prunings: { [name: string]: Json }[];
  [name: string]: unknown;
}

export declare class DeskError extends Error {
  /** 0 where the desk did not answer. */
  status: number;
  /** Milliseconds. */
  retryAfter: number;
}

/** What would be read lacks what was recorded before. */
export declare class NotSent extends DeskError {
  /** Events of this session that the desk has not got. */
  waiting: number;
}

export declare class StateConflict extends DeskError {}

export declare class Session {
  readonly id: string;
  readonly appName: string;
  readonly userId?: string;

  /** The session that the agent `appName` knows as `id`: the same id again goes on in it. */
  constructor(id?: string, appName?: string, options?: Options);

  /** A session that is there at the desk when this resolves. Recording does not need it. */
  static create(id?: string, appName?: string, options?: Options): Promise<Session>;

  sendMessage(
    text: string,
    role?: Role,
    more?: { name?: string; model?: string; data?: { [name: string]: Json }; clientId?: string },
  ): string;
  usage(usage: Usage): string;
  /** A decision that this session led to; other members are those of a product graph, as its files name them. */
  decision(title: string, fields?: { status?: string; clientId?: string; [name: string]: Json | undefined }): string;
  /** `about`: what `decision` answered; `direction`: supports, refutes or neutral. */
  evidence(title: string, fields?: { about?: string; clientId?: string; [name: string]: Json | undefined }): string;
  record(kind: string, fields?: { [name: string]: unknown }, clientId?: string): string;
  turn<T>(
    prompt: string,
    block: (turn: { reply(text: string, more?: { model?: string }): string }) => T | Promise<T>,
    more?: { name?: string },
  ): Promise<T>;
  toolCall<T>(
    name: string,
    args: unknown,
    block: (call: { callId: string; denied(reason?: string): void }) => T | Promise<T>,
    more?: { server?: string; callId?: string },
  ): Promise<T>;
  approve(tool: string, args: { [name: string]: Json }, question?: Question): Promise<Decision>;

  history(which?: { limit?: number; role?: Role; includePruned?: boolean }): Promise<Message[]>;
  events(which?: { since?: number; limit?: number; kind?: string }): Promise<SessionEvent[]>;
  export(format?: string): Promise<Uint8Array>;
  /** `keep_last_50`, `sliding_window`, `keep_important` or `summarize_old`. The log keeps what goes out of sight. */
  prune(strategy: string, which?: { windowSize?: number; threshold?: number; dryRun?: boolean }): Promise<Pruned>;
  /** For a key of the role reviewer. The desk prunes it by itself no more. */
  showPruned(): Promise<{ messages: number; events: number }>;
  /** As the API answers it: the policy, what is due by it, and what was pruned. */
  retention(): Promise<Retention>;

  setState(key: string, value: Json, scope?: Scope, which?: { ifVersion?: number; embedding?: Embedding }): Promise<number>;
  getState<T = Json>(key: string, fallback?: T, scope?: Scope): Promise<T>;
  updateState<T = Json>(
    key: string,
    change: (value: T) => T | Promise<T>,
    scope?: Scope,
    fallback?: T,
    which?: { embedding?: Embedding },
  ): Promise<T>;
  deleteState(key: string, scope?: Scope): Promise<boolean>;
  clearState(): Promise<void>;
  searchState(
    words: string,
    scope?: Scope,
    limit?: number,
    which?: { prefix?: string; embedding?: Embedding },
  ): Promise<FoundValue[]>;

  /** Milliseconds; whether the desk has all that was recorded. */
  flush(timeout?: number): Promise<boolean>;
  /** With `whenFull: "wait"`, resolves when there is room for more; `turn` and `toolCall` wait by themselves. */
  room(): Promise<void>;
  progress(): Progress;
}
