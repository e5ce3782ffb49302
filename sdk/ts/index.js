// A session of an agent, told to a desk: recorded at once in memory, sent in batches, read and asked over fetch.

import { ask } from "./approval.js";
import { Delivery, DeskError, exchange } from "./delivery.js";
import { OutOfSight } from "./out-of-sight.js";
import { Spool, folderOf, leftBehind } from "./spool.js";
import { State, StateConflict } from "./state.js";

export { DeskError, StateConflict };

/** What would be read lacks what was recorded before; `waiting` is how many events of the session. */
export class NotSent extends DeskError {
  constructor(waiting, fault) {
    const why = fault ? `: ${fault}` : "";
    super(0, `the desk has not got ${waiting} event(s) that were recorded in this session before; they are kept, and sent as soon as it takes them${why}`);
    this.name = "NotSent";
    this.waiting = waiting;
  }
}

const KINDS = { user: "user_message", assistant: "agent_message", system: "system" };
const ACTORS = { user: "person", assistant: "agent", system: "system" };
const ROLES = Object.fromEntries(Object.entries(KINDS).map(([role, kind]) => [kind, role]));
const PAGE = 500; // events that the desk answers at once
const RETENTION = ["ttlDays", "autoPrune", "pruneStrategy", "maxMessages", "immutable", "holdReason"];
const LONG = 300_000; // ms for what the desk may need minutes for: a large file, a summary that a model writes
const DEEPEST = 40; // objects inside of objects, of what is no JSON
const SETTLE = 5000; // ms that what is read or asked waits for what was recorded before it

export class Session extends State {
  #desk;
  #opening;
  #delivery;
  #onError;
  #isStrict;
  #opened;
  #run = crypto.randomUUID().replaceAll("-", "");
  #number = 0;

  constructor(id, appName = "agent", options = {}) {
    super();
    const { userId, metadata, retention, title, url, apiKey, spool, strict = false, onError = warn } = options;
    const environment = globalThis.process?.env ?? {};
    const address = url ?? environment.COUNTERSIGN_URL;
    const key = apiKey ?? environment.COUNTERSIGN_API_KEY;
    if (!address || !key) throw new Error(`${address ? "COUNTERSIGN_API_KEY" : "COUNTERSIGN_URL"} is not set`);
    this.id = id ?? crypto.randomUUID();
    this.appName = appName;
    this.userId = userId;
    this.#desk = { url: address.replace(/\/+$/, ""), key };
    this.#opening = { agent: appName, external_id: this.id, title, user_id: userId, metadata };
    if (retention) this.#opening.retention = readRetention(retention);
    this.#onError = onError;
    this.#isStrict = strict;
    const folder = folderOf(this.#desk, spool);
    const kept = new Spool(folder, this.#opening, onError);
    this.#delivery = new Delivery(this.#desk, (isFresh) => this.open(isFresh), kept, { ...options, onError });
    for (const { opening, events, file } of leftBehind(folder)) {
      new Delivery(this.#desk, opener(this.#desk, opening), new Spool(), { onError }).adopt(events, file);
    }
  }

  /** A session that is there at the desk when this resolves. Recording does not need it. */
  static async create(id, appName, options) {
    const session = new Session(id, appName, options);
    await session.open();
    return session;
  }

  /** The session at the desk, made there if need be: its id, and the user it is of. */
  open(isFresh = false) {
    if (isFresh) this.#opened = undefined;
    this.#opened ??= exchange(this.#desk, "POST", "/api/v1/sessions", this.#opening).then(async (opened) => {
      await this.#compareRetention(opened.id);
      return opened;
    }).catch((error) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  /** A session that was there keeps the retention that it has: said to who gave another one. */
  async #compareRetention(id) {
    const wanted = Object.entries(this.#opening.retention ?? {});
    if (!wanted.length) return;
    try {
      const there = await exchange(this.#desk, "GET", `/api/v1/sessions/${id}/retention`);
      const other = wanted.filter(([name, value]) => there[name] !== value).map(([name]) => name);
      if (other.length) throw new DeskError(0, `this session was there with another retention (${other.join(", ")})`);
    } catch (error) {
      this.#onError(error);
    }
  }

  sendMessage(text, role = "assistant", { name, model, data, clientId } = {}) {
    if (!KINDS[role]) return this.#wrong(new TypeError(`"${role}" is no role: use user, assistant or system`));
    const actor = name ? { kind: ACTORS[role], name } : undefined;
    return this.record(KINDS[role], { text, model, data, actor }, clientId);
  }

  usage({ model, cost, data, clientId, ...counts }) {
    const usage = {};
    for (const [name, count] of Object.entries(counts)) {
      if (count === undefined) continue;
      if (!Number.isSafeInteger(count) || count < 0) {
        return this.#wrong(new TypeError(`${name} is ${String(count)}: tokens are whole numbers from 0`));
      }
      usage[snake(name)] = count;
    }
    return this.record("model_request", { model, usage, cost, data }, clientId);
  }

  /** A decision that this session led to, as the agent tells it; `fields` are those of a product graph. */
  decision(title, { status = "proposed", clientId, ...fields } = {}) {
    return this.record("note", { text: title, data: { decision: { title, status, ...fields } } }, clientId);
  }

  /** Evidence: `about` is what `decision` answered, `direction` supports, refutes or neutral. */
  evidence(title, { about, clientId, ...fields } = {}) {
    const data = { name: title, evidence: { title, ...fields } };
    const text = String(fields.summary || title);
    return this.record("artifact", { text, data, parent_client_id: about || undefined }, clientId);
  }

  /** Any event: its client id, empty where it was not recorded. The same client id again is the same event. */
  record(kind, fields = {}, clientId = `${this.#run}-${++this.#number}`) {
    try {
      const event = written({ client_id: clientId, kind, at: new Date().toISOString(), ...fields }, this.#isStrict);
      return this.#delivery.put(event) ? clientId : "";
    } catch (error) {
      return this.#wrong(error);
    }
  }

  /** What a program records of itself does not break it, unless it is asked to. */
  #wrong(error) {
    if (this.#isStrict) throw error;
    this.#onError(error);
    return "";
  }

  /** The person's message, then the block, which is given `reply(text)`; what it throws is recorded and thrown. */
  async turn(prompt, block, { name } = {}) {
    await this.room();
    this.sendMessage(prompt, "user", { name });
    try {
      return await block({ reply: (text, more) => this.sendMessage(text, "assistant", more) });
    } catch (error) {
      this.record("error", { text: said(error), actor: { kind: "agent" } });
      throw error;
    }
  }

  /** The call, then the block, which makes it: what it returns is the result; `denied(reason)` says it was not made. */
  async toolCall(name, args, block, { server, callId = crypto.randomUUID() } = {}) {
    await this.room();
    const parent = this.record("tool_call", { tool: { call_id: callId, name, server, arguments: args } });
    const begun = performance.now();
    let status = "ok";
    let denial = null;
    const end = (tool, text) => {
      const data = { duration_ms: Math.round((performance.now() - begun) * 1000) / 1000 };
      const about = { call_id: callId, ...tool };
      this.record("tool_result", { text, tool: about, data, parent_client_id: parent || undefined });
    };
    try {
      const denied = (reason = "") => { [status, denial] = ["denied", reason || null]; };
      const result = await block({ callId, denied });
      end({ result: status === "denied" ? denial : (result ?? null), status });
      return result;
    } catch (error) {
      end({ result: null, status: error?.name === "AbortError" ? "cancelled" : "error" }, said(error));
      throw error;
    }
  }

  /** Ask whether a call may be made, and wait. Never throws for what the desk does: no well-formed yes is no. */
  async approve(tool, args, options = {}) {
    try {
      await this.flush(SETTLE);
      return await ask(this.#desk, await this.#mine(), tool, args, options);
    } catch (error) {
      if (error instanceof TypeError) throw error;
      return { allowed: false, status: "failed", reason: String(error.message ?? error), edited: false };
    }
  }

  /** Events behind the seq `since`, as the API answers them. */
  async events({ since = 0, limit = 500, kind } = {}) {
    await this.#settle();
    const found = [];
    while (found.length < limit) {
      const { items } = await this.#page(since, Math.min(PAGE, limit - found.length), kind);
      found.push(...items);
      if (items.length < PAGE) break;
      since = items.at(-1).seq;
    }
    return found;
  }

  /** The latest messages in sight, oldest first. From the end, a page at a time: its cost does not grow with the session. */
  async history({ limit = 50, role, includePruned = false } = {}) {
    await this.#settle();
    const gone = await OutOfSight.of((before) => this.#ask("GET", `/pruned?before=${before}`), includePruned);
    let end = await gone.before(gone.lastSeq);
    let size = Math.min(Math.max(4 * limit, 20), PAGE);
    const found = [];
    const isWanted = (by) => by && (!role || role === by) && found.length < limit;
    while (end > 0 && found.length < limit) {
      const begin = Math.max(end - size, 0);
      const { items } = await this.#page(begin, size);
      for (const event of items.filter((row) => row.seq <= end).reverse()) {
        const by = ROLES[event.kind];
        if (isWanted(by) && !(await gone.holds(event.seq))) found.push(message(event, by));
      }
      [end, size] = [await gone.before(begin), Math.min(2 * size, PAGE)];
    }
    if (gone.summary && isWanted("system")) found.push(message(gone.summary, "system"));
    return found.sort((one, other) => one.seq - other.seq);
  }

  /** Take old messages out of sight, and say what was taken; the log keeps them. */
  async prune(strategy, { windowSize, threshold, dryRun = false } = {}) {
    await this.#settle();
    const wanted = { strategy, window_size: windowSize, threshold, dry_run: dryRun };
    return this.#ask("POST", "/prune", wanted, { timeout: LONG });
  }

  /** Bring all that was pruned into sight again, with a key of the role reviewer. */
  showPruned() {
    return this.#ask("POST", "/show-pruned");
  }

  /** The policy, what is due by it, and what was pruned. */
  retention() {
    return this.#ask("GET", "/retention");
  }

  /** A file of the session, as bytes; a key of the role agent may take none (403). */
  async export(format = "markdown") {
    await this.#settle();
    const path = `/export?format=${encodeURIComponent(format)}`;
    return this.#ask("GET", path, undefined, { asBytes: true, timeout: LONG });
  }

  /** What is read is never older than what was recorded: who reads would not know what lacks. */
  async #settle() {
    if (await this.flush(SETTLE)) return;
    const { waiting, fault } = this.progress();
    throw new NotSent(waiting, fault);
  }

  /** Wait so many ms until the desk has all that was recorded; whether it has. */
  flush(timeout = 30_000) {
    return this.#delivery.flush(timeout);
  }

  /** With `whenFull: "wait"`, resolves when there is room for more; `turn` and `toolCall` wait by themselves. */
  room() {
    return this.#delivery.room();
  }

  progress() {
    return this.#delivery.progress();
  }

  exchangeState(method, query, body) {
    return this.#ask(method, `/state${query}`, body, { timeout: 10_000 });
  }

  #page(after, limit, kind) {
    return this.#ask("GET", `/events?${new URLSearchParams({ after, limit, ...(kind && { kind }) })}`);
  }

  /** What the desk answers at a path below this session. */
  async #ask(method, path, body, options) {
    return exchange(this.#desk, method, `/api/v1/sessions/${await this.#mine()}${path}`, body, options);
  }

  /** Its id at the desk, which keeps the user that it began with: for another one nothing of it is read. */
  async #mine() {
    const { id, user_id: user } = await this.open();
    if (this.userId && user && user !== this.userId) {
      throw new DeskError(409, `this session is of the user "${user}", not of "${this.userId}"`);
    }
    return id;
  }
}

function readRetention(words) {
  const unknown = Object.keys(words).find((name) => !RETENTION.includes(name));
  if (unknown) throw new TypeError(`"${unknown}" is no word of a retention: use ${RETENTION.join(", ")}`);
  return Object.fromEntries(Object.entries(words).map(([name, value]) => [snake(name), value]));
}

/** What opens a session that another process has begun. */
function opener(desk, opening) {
  let opened;
  return async (isFresh) => {
    if (isFresh || !opened) opened = await exchange(desk, "POST", "/api/v1/sessions", opening);
    return opened;
  };
}

function message({ seq, text, at, actor }, role) {
  return { seq, role, text, at, name: actor.name };
}

/** An event as JSON; where not strict, what is no JSON in it as JavaScript writes it. */
function written(event, isStrict) {
  try {
    return JSON.stringify(event);
  } catch (error) {
    if (isStrict) throw error;
    return JSON.stringify(plain(event, DEEPEST, []));
  }
}

function plain(value, depth, above) {
  if (value === null || ["string", "number", "boolean", "undefined"].includes(typeof value)) return value;
  if (typeof value !== "object" || typeof value.toJSON === "function" || !depth || above.includes(value)) return named(value);
  const below = [...above, value];
  if (Array.isArray(value)) return value.map((one) => plain(one, depth - 1, below));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one, depth - 1, below)]));
}

function named(value) {
  try {
    return String(value).slice(0, 10_000);
  } catch (error) { // of its own toString
    return `<${typeof value}: ${error.name}>`;
  }
}

function snake(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function said(error) {
  return String(error instanceof Error ? `${error.name}: ${error.message}` : error).slice(0, 10_000);
}

function warn(error) {
  console.warn(`countersign: ${error.message}`);
}
