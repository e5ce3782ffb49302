// Brings events to the desk: in batches, again until they were taken, each into the log once by its client id.

const AT_ONCE = 1000; // events of one request: what the desk takes
const MOST = 2 << 20; // bytes of one request
const LONGEST = 1 << 20; // bytes of one event
const LIMIT = 64 << 20; // bytes that wait
const LINGER = 100; // ms that a first event waits for others
const FIRST_PAUSE = 200;
const LONGEST_PAUSE = 20_000;
const AT_EXIT = 5000; // ms that the end of a program waits
const LONGEST_WISH = 300_000; // ms of a Retry-After that are believed
const REFUSALS = new Set([400, 403, 409, 413, 422]); // what the same request would be answered again

/** What was asked of the desk did not come; status 0 where it did not answer. */
export class DeskError extends Error {
  constructor(status, detail, retryAfter = 0) {
    super(status ? `${status}: ${detail}` : detail);
    this.name = "DeskError";
    this.status = status;
    this.retryAfter = retryAfter; // ms
  }
}

/** The answer of the desk, as JSON or as bytes. Throws DeskError. */
export async function exchange(desk, method, path, body, { asBytes = false, timeout = 30_000 } = {}) {
  const headers = { Authorization: `Bearer ${desk.key}`, Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let status = 0;
  let bytes;
  let wish = 0;
  try {
    const written = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const signal = AbortSignal.timeout(timeout);
    // An answer that sends elsewhere is no desk's: the key is not carried there.
    const answer = await fetch(desk.url + path, { method, headers, body: written, signal, redirect: "manual" });
    status = answer.status;
    wish = Number(answer.headers.get("Retry-After")) * 1000 || 0;
    bytes = new Uint8Array(await answer.arrayBuffer());
  } catch (error) {
    throw new DeskError(0, String(error.cause?.message ?? error.message));
  }
  if (asBytes && status === 200) return bytes;
  const text = new TextDecoder().decode(bytes);
  let read;
  try {
    read = JSON.parse(text);
  } catch {
    read = undefined;
  }
  const isProblem = read?.status === status;
  if ((status !== 200 && status !== 201) || read === null || typeof read !== "object") {
    const detail = isProblem ? `${read.detail ?? ""} ${JSON.stringify(read.errors?.[0] ?? "")}` : text.slice(0, 500);
    const error = new DeskError(status || 0, detail.replace(/ ""$/, ""), Math.min(wish, LONGEST_WISH));
    error.isProblem = isProblem;
    error.problem = isProblem ? read : undefined;
    throw error;
  }
  return read;
}

const unsent = new Set();
globalThis.process?.once?.("beforeExit", () => Promise.all([...unsent].map((delivery) => delivery.flush(AT_EXIT))));

export class Delivery {
  #desk;
  #open;
  #limit;
  #isPatient;
  #isStrict;
  #onError;
  #spool;
  #queue = [];
  #bytes = 0;
  #missing = 0;
  #madeRoom = [];
  #working;
  #hurry = () => {};
  #fault = "";
  #counts = { sent: 0, repeated: 0, refused: 0 };

  constructor(desk, open, spool, { limit = LIMIT, whenFull = "drop", strict = false, onError }) {
    if (whenFull !== "drop" && whenFull !== "wait") throw new TypeError(`whenFull is "${whenFull}": use drop or wait`);
    this.#desk = desk;
    this.#open = open;
    this.#spool = spool;
    this.#limit = limit;
    this.#isPatient = whenFull === "wait";
    this.#isStrict = strict;
    this.#onError = onError;
  }

  /** Send what an ended process has left in a file. */
  adopt(events, file) {
    for (const event of events) this.#keep(event, byteLength(event), file);
    this.#begin();
  }

  /** Whether there is room for it. */
  put(event) {
    const size = byteLength(event);
    if (size > LONGEST) return this.#lose(`an event of ${size} bytes; at most ${LONGEST} are sent`);
    const isFull = this.#bytes + size > this.#limit;
    if (isFull && !this.#isPatient) return this.#lose("as much as is kept waits for the desk");
    if (this.#missing) {
      const text = `${this.#missing} event(s) before this one were not recorded: too many waited`;
      const note = { client_id: crypto.randomUUID(), kind: "note", text, at: new Date().toISOString() };
      this.#keep(JSON.stringify({ ...note, actor: { kind: "system" }, data: { missing: this.#missing } }));
      this.#missing = 0;
    }
    this.#keep(event, size);
    this.#begin();
    return true;
  }

  /** Resolves at once, or where `whenFull` is "wait" and as much waits as is kept, when there is room again. */
  async room() {
    while (this.#isPatient && this.#bytes >= this.#limit && this.#working) {
      await new Promise((resolve) => { this.#madeRoom.push(resolve); });
    }
  }

  #begin() {
    unsent.add(this);
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
      unsent.delete(this);
    });
  }

  progress() {
    return { waiting: this.#queue.length, missing: this.#missing, ...this.#counts, fault: this.#fault };
  }

  async flush(timeout) {
    const until = performance.now() + timeout;
    while (this.#working && performance.now() < until) {
      this.#hurry();
      let timer;
      const late = new Promise((resolve) => {
        timer = setTimeout(resolve, until - performance.now());
      });
      await Promise.race([this.#working, late]);
      clearTimeout(timer);
    }
    return !this.#queue.length;
  }

  #keep(event, size = byteLength(event), file = this.#spool.keep(event)) {
    this.#queue.push({ event, size, file });
    this.#bytes += size;
  }

  #lose(reason) {
    this.#missing += 1;
    const error = new DeskError(0, `an event was not recorded: ${reason}`);
    if (this.#isStrict) throw error;
    if (this.#missing === 1) this.#onError(error);
    return false;
  }

  async #work() {
    await this.#pause(LINGER);
    while (this.#queue.length) {
      const batch = [];
      let size = 0;
      for (const one of this.#queue) {
        if (batch.length && (batch.length >= AT_ONCE || size + one.size > MOST)) break;
        batch.push(one);
        size += one.size + 1;
      }
      await this.#send(batch);
      this.#queue.splice(0, batch.length);
      for (const { size, file } of batch) {
        this.#bytes -= size;
        this.#spool.sent(file);
      }
      for (const resolve of this.#madeRoom.splice(0)) resolve();
    }
  }

  /** Until it was taken; of one that is refused each half for itself, until only what is wrong is left out. */
  async #send(batch) {
    let isReopened = false;
    for (let wait = FIRST_PAUSE; ; wait = Math.min(wait * 2, LONGEST_PAUSE)) {
      let id;
      try {
        ({ id } = await this.#open(isReopened));
        const body = `{"events": [${batch.map((one) => one.event).join(",")}]}`;
        const said = await exchange(this.#desk, "POST", `/api/v1/sessions/${id}/events`, body);
        if (said.accepted + said.duplicates !== batch.length) throw new DeskError(0, "what answers there is no desk");
        this.#counts.sent += said.accepted;
        this.#counts.repeated += said.duplicates;
        this.#fault = "";
        return;
      } catch (error) {
        const isGone = error.isProblem && error.status === 404;
        if (isGone && !isReopened) {
          isReopened = true;
          continue;
        }
        if (isGone || (error.isProblem && REFUSALS.has(error.status))) {
          return id && !isGone ? this.#divide(batch, error) : this.#refuse(batch.length, error);
        }
        if (this.#fault !== error.message) this.#onError(error);
        this.#fault = error.message;
        await this.#pause(Math.max(error.retryAfter ?? 0, wait * (0.7 + 0.6 * Math.random())), error.retryAfter > 0);
      }
    }
  }

  async #divide(batch, error) {
    if (batch.length === 1) return this.#refuse(1, error);
    const middle = batch.length >> 1;
    await this.#send(batch.slice(0, middle));
    await this.#send(batch.slice(middle));
  }

  #refuse(number, error) {
    this.#counts.refused += number;
    this.#onError(new DeskError(error.status, `${number} event(s) were not recorded: ${error.message}`));
  }

  /** So many ms, or less when somebody flushes; a wish of the desk is kept. A program that is done does not wait. */
  #pause(milliseconds, isWish = false) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      if (this.#fault) timer.unref?.();
      this.#hurry = isWish ? () => {} : () => { clearTimeout(timer); resolve(); };
    });
  }
}

const encoder = new TextEncoder();

function byteLength(text) {
  return encoder.encode(text).length;
}
