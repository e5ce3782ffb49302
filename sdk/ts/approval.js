// Asks the desk about a call and waits. Whatever is not a well-formed answer about this very call is no.

import { createHash } from "node:crypto";
import { exchange } from "./delivery.js";

const POLL = 30; // seconds of one long poll
const PATIENCE = 10_000; // ms to try for, before the desk has taken the question
const ENDURANCE = 300_000; // ms to try for, once it has
const LONGEST_PAUSE = 2000;
const PASSING = new Set([0, 429, 500, 502, 503, 504]);
const ALLOWED = ["approved", "approved_edited", "auto_allowed"];
const REFUSED = ["denied", "answered", "expired", "cancelled", "auto_denied", "settled_elsewhere"];

export async function ask(desk, session, tool, args, { server, context, risk, expiresIn, clientId, wait } = {}) {
  const written = canonical(args);
  const question = { tool, server, written, session, clientId: clientId ?? crypto.randomUUID() };
  const until = performance.now() + (wait ?? Infinity);
  const body = { session_id: session, client_id: question.clientId, context, risk, expires_in: expiresIn };
  body.tool = { name: tool, arguments: JSON.parse(written), server };
  let found = { allowed: false, status: "failed", reason: "the desk was not asked", edited: false };
  try {
    found = read(await patiently(desk, "POST", "/api/v1/approvals", body, PATIENCE), question);
    while (found.status === "pending" && performance.now() < until) {
      const seconds = Math.min(POLL, (until - performance.now()) / 1000).toFixed(3);
      const path = `/api/v1/approvals/${found.approvalId}?wait=${seconds}`;
      found = read(await patiently(desk, "GET", path, undefined, ENDURANCE), question, found.approvalId);
    }
    return found;
  } catch (error) {
    return { ...found, allowed: false, status: "failed", reason: error.message, arguments: undefined };
  }
}

/** The answer, asked for again while nobody or no desk answers. */
async function patiently(desk, method, path, body, patience) {
  const until = performance.now() + patience;
  for (let pause = 100; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    try {
      return await exchange(desk, method, path, body, { timeout: (POLL + 20) * 1000 });
    } catch (error) {
      const wait = Math.max(pause, error.retryAfter ?? 0);
      if (!PASSING.has(error.status) || performance.now() + wait >= until) throw error;
      await new Promise((resolve) => { setTimeout(resolve, wait); });
    }
  }
}

/** The decision in an answer, checked. Throws where it is about something else. */
function read(approval, question, expectedId) {
  const { id, session_id: session, tool, status, decision: made } = approval;
  check(typeof id === "string" && /^[0-9a-f-]+$/i.test(id) && (!expectedId || id === expectedId), "id");
  check(session === question.session, "session");
  check(approval.client_id === question.clientId, "client_id");
  check(tool?.name === question.tool && (tool.server ?? undefined) === question.server, "tool");
  check(isObject(tool.arguments) && canonical(tool.arguments) === question.written, "arguments");
  const found = { allowed: false, status, reason: "", answer: "", by: "", edited: false, approvalId: id };
  if (status === "pending") return found;
  check([...ALLOWED, ...REFUSED].includes(status) && isObject(made), "status");
  for (const name of ["reason", "answer", "by"]) if (typeof made[name] === "string") found[name] = made[name];
  if (!ALLOWED.includes(status)) return found;
  const edited = status === "approved_edited";
  check(edited === isObject(made.arguments), "arguments that were decided on");
  const run = edited ? made.arguments : JSON.parse(question.written);
  const call = { session, approval: id, tool: question.tool, server: question.server ?? null, input: run };
  const digest = createHash("sha256").update(canonical(call)).digest("hex");
  check(made.digest === digest, "digest");
  return { ...found, allowed: true, edited, digest, arguments: run };
}

function check(isRight, what) {
  if (!isRight) throw new Error(`the answer is about another call: its ${what} is another`);
}

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** RFC 8785: keys in the order of their UTF-16, numbers as ECMAScript writes them. */
export function canonical(value) {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number" && Number.isFinite(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (isObject(value) && Object.getPrototypeOf(value) === Object.prototype) {
    const keys = Object.keys(value).sort();
    return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
  }
  throw new TypeError(`${typeof value} is no JSON`);
}
