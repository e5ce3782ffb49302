// What an agent keeps under keys, each with a version: of a session, of its user, of the app; and of a step alone.

import { DeskError } from "./delivery.js";

const SCOPES = ["session", "user", "app", "temp"];
const TRIES = 20;
const PAUSE = 10; // ms
const LONGEST = 500;

/** Somebody else wrote the value since this program read it. Read it again, or use updateState. */
export class StateConflict extends DeskError {
  constructor(key) {
    super(409, `"${key}" was changed by somebody else since it was read`);
    this.name = "StateConflict";
  }
}

export class State {
  #temp = new Map();
  #versions = new Map();

  async setState(key, value, scope = "session", { ifVersion, embedding } = {}) {
    const written = JSON.stringify(value);
    if (written === undefined) throw new TypeError("the value is no JSON");
    [scope, key] = place(scope, key);
    if (scope === "temp") {
      this.#temp.set(key, written);
      return 0;
    }
    const known = ifVersion ?? this.#versions.get(`${scope}:${key}`);
    const body = { scope, key, value: JSON.parse(written), if_version: known, embedding };
    const kept = await this.#ask("PUT", scope, key, "", body);
    this.#versions.set(`${scope}:${key}`, kept.version);
    return kept.version;
  }

  async getState(key, fallback, scope = "session") {
    [scope, key] = place(scope, key);
    if (scope === "temp") return this.#temp.has(key) ? JSON.parse(this.#temp.get(key)) : fallback;
    const { items } = await this.#ask("GET", scope, key, `?${new URLSearchParams({ scope, key })}`);
    this.#versions.set(`${scope}:${key}`, items[0]?.version ?? 0);
    return items.length ? items[0].value : fallback;
  }

  async updateState(key, change, scope = "session", fallback, { embedding } = {}) {
    for (let tried = 1; ; tried += 1) {
      const changed = await change(await this.getState(key, fallback, scope));
      try {
        await this.setState(key, changed, scope, { embedding });
        return changed;
      } catch (error) {
        if (!(error instanceof StateConflict) || tried === TRIES) throw error;
        const longest = Math.min(PAUSE * 2 ** tried, LONGEST); // many at once would meet again
        await new Promise((resolve) => { setTimeout(resolve, Math.random() * longest); });
      }
    }
  }

  async deleteState(key, scope = "session") {
    [scope, key] = place(scope, key);
    if (scope === "temp") return this.#temp.delete(key);
    const known = this.#versions.get(`${scope}:${key}`);
    const query = new URLSearchParams({ scope, key, ...(known && { if_version: known }) });
    const { deleted } = await this.#ask("DELETE", scope, key, `?${query}`);
    this.#versions.delete(`${scope}:${key}`);
    return Boolean(deleted);
  }

  async clearState() {
    this.#temp.clear();
    await this.#ask("DELETE", "session", "", "?scope=session");
    for (const name of this.#versions.keys()) if (name.startsWith("session:")) this.#versions.delete(name);
  }

  async searchState(words, scope = "user", limit = 10, { prefix = "", embedding } = {}) {
    return (await this.#ask("POST", scope, "", "/search", { scope, q: words, limit, prefix, embedding })).items;
  }

  async #ask(method, scope, key, query, body) {
    try {
      return await this.exchangeState(method, query, body);
    } catch (error) {
      if (error.status !== 409 || error.problem?.version === undefined) throw error;
      this.#versions.delete(`${scope}:${key}`);
      throw new StateConflict(key);
    }
  }
}

/** Scope and key; `user:x` is `x` in the scope of the user. */
function place(scope, key) {
  const [, prefix, rest] = /^(user|app|temp):(.*)$/s.exec(key) ?? [];
  if (prefix && scope === "session") [scope, key] = [prefix, rest];
  if (!SCOPES.includes(scope)) throw new TypeError(`"${scope}" is no scope: use ${SCOPES.join(", ")}`);
  if (!key) throw new TypeError("a key has at least one character");
  return [scope, key];
}
