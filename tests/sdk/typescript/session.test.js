// The client against a real desk (COUNTERSIGN_URL, COUNTERSIGN_API_KEY). `npm test` in sdk/ts.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readdirSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { test } from "node:test";

const client = new URL("../../../sdk/ts/index.js", import.meta.url).href;
const { DeskError, NotSent, Session, StateConflict } = await import(client);
const desk = process.env.COUNTERSIGN_URL;

/** Stands before the desk; `fault(number, response)` may answer in its place, `after` when the desk has taken it. */
async function inFront(fault, after = () => false) {
  const seen = [];
  const server = http.createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    seen.push({ path: request.url, at: performance.now() });
    if (fault(seen.length, response)) return;
    const headers = { Authorization: request.headers.authorization, "Content-Type": "application/json" };
    const body = parts.length ? Buffer.concat(parts) : undefined;
    const answer = await fetch(desk + request.url, { method: request.method, headers, body });
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (after(seen.length, response)) return;
    response.writeHead(answer.status, { "Content-Type": "application/json" });
    response.end(bytes);
  });
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  return { url: `http://127.0.0.1:${server.address().port}`, seen, close: () => server.close() };
}

test("a turn, a call and its tokens are in the log", async () => {
  const session = await Session.create("ts-1", "Shop", { userId: "ines", metadata: { shop: "Porto" } });
  const result = await session.turn("Where is 4711?", async (turn) => {
    const found = await session.toolCall("find", { order: "4711" }, () => ({ sent: true }));
    session.usage({ model: "claude-sonnet-4-5", inputTokens: 10, cacheReadTokens: 5, outputTokens: 2 });
    turn.reply("At sea.");
    return found;
  });
  assert.deepEqual(result, { sent: true });
  await assert.rejects(session.turn("And 4712?", () => { throw new RangeError("no such order"); }), RangeError);
  await session.toolCall("pay", {}, (call) => call.denied("too much"));
  assert.equal(await session.flush(), true);
  const events = await session.events();
  assert.deepEqual(events.map((event) => event.kind), [
    "user_message", "tool_call", "tool_result", "model_request", "agent_message", "user_message", "error", "tool_call",
    "tool_result",
  ]);
  assert.equal(events.at(6).text, "RangeError: no such order");
  assert.equal(events.at(8).tool.status, "denied");
  assert.deepEqual((await session.history({ limit: 2 })).map(({ role, text }) => [role, text]), [
    ["assistant", "At sea."], ["user", "And 4712?"],
  ]);
  assert.equal((await session.history({ role: "assistant" })).length, 1);
  assert.deepEqual(await session.events({ since: 4, kind: "agent_message" }), [events[4]]);
});

test("batches, pages, and an event that is refused alone", async () => {
  const problems = [];
  const session = new Session("ts-many", "Shop", { onError: (error) => problems.push(error.message) });
  for (let n = 0; n < 2300; n += 1) session.sendMessage(`message ${n}`, n % 2 ? "assistant" : "user");
  session.record("no_such_kind", { text: "x" });
  session.sendMessage("the last");
  assert.equal(await session.flush(120_000), true);
  assert.equal(session.progress().sent, 2301);
  assert.equal(session.progress().refused, 1);
  assert.match(problems.join(), /1 event\(s\) were not recorded: 422/);
  const said = await session.history({ limit: 700 });
  assert.equal(said.length, 700);
  assert.equal(said.at(-1).text, "the last");
  assert.equal((await session.events({ limit: 1100 })).length, 1100);
});

test("answers that are lost double nothing, a desk that is away loses nothing", async () => {
  const drop = (number, response) => number % 3 === 0 && response.socket.destroy();
  const front = await inFront((number, response) => {
    if (number > 4) return false;
    response.socket.destroy();
    return true;
  }, (number, response) => Boolean(drop(number, response)));
  const session = new Session("ts-lost", "Shop", { url: front.url, onError: () => {} });
  for (let n = 0; n < 50; n += 1) {
    session.sendMessage(`message ${n}`);
    if (n % 10 === 0) await new Promise((resolve) => { setTimeout(resolve, 150); });
  }
  assert.equal(await session.flush(60_000), true);
  front.close();
  const texts = (await new Session("ts-lost", "Shop").events()).map((event) => event.text);
  assert.deepEqual(texts, Array.from({ length: 50 }, (_, n) => `message ${n}`));
  const again = new Session("ts-lost", "Shop");
  for (let n = 0; n < 2; n += 1) again.record("user_message", { text: "twice", at: "2026-01-01T00:00:00Z" }, "one");
  await again.flush();
  assert.equal(again.progress().repeated, 1);
});

test("a 429 is waited for as long as the desk asks", async () => {
  const front = await inFront((number, response) => {
    if (number !== 2) return false;
    response.writeHead(429, { "Retry-After": "1", "Content-Type": "application/json" });
    response.end('{"status": 429, "detail": "many wait"}');
    return true;
  });
  const session = new Session("ts-429", "Shop", { url: front.url, onError: () => {} });
  session.sendMessage("later");
  assert.equal(await session.flush(30_000), true);
  front.close();
  const [, refused, taken] = front.seen;
  assert.ok(taken.at - refused.at >= 990, `${taken.at - refused.at} ms`);
  assert.equal(session.progress().sent, 1);
});

test("what is read is never older than what was recorded", async () => {
  let isAway = true;
  const front = await inFront((_, response) => {
    if (isAway) response.writeHead(503).end("later");
    return isAway;
  });
  const session = new Session("ts-late", "Shop", { url: front.url, onError: () => {} });
  session.sendMessage("one", "user");
  session.sendMessage("two");
  await assert.rejects(session.history(), (error) => error instanceof NotSent && error.waiting === 2);
  isAway = false;
  assert.equal(await session.flush(60_000), true);
  assert.equal((await session.history()).length, 2);
  front.close();
});

test("what a session led to is told with its evidence", async () => {
  const session = new Session("ts-graph", "Shop");
  const about = session.decision("Refund 4711", { rationale: "It never came" });
  session.evidence("The carrier lost it", { about, direction: "supports", quote: "lost" });
  assert.equal(await session.flush(60_000), true);
  const answer = await fetch(`${desk}/api/v1/sessions/${(await session.open()).id}/graph`, {
    headers: { Authorization: `Bearer ${process.env.COUNTERSIGN_API_KEY}` },
  });
  const { items } = await answer.json();
  assert.deepEqual(items.map(({ kind, title }) => [kind, title]), [
    ["decision", "Refund 4711"], ["evidence", "The carrier lost it"],
  ]);
  assert.equal(items[0].status, "proposed");
  assert.equal(items[1].decision_id, items[0].id);
});

test("what does not fit is told of in the log", async () => {
  const session = new Session("ts-full", "Shop", { limit: 600, onError: () => {} });
  const kept = Array.from({ length: 10 }, (_, n) => session.sendMessage(`message ${n}`)).filter(Boolean).length;
  assert.equal(session.progress().missing, 10 - kept);
  await session.flush();
  session.sendMessage("the next");
  await session.flush();
  const events = await session.events();
  assert.equal(events.at(-2).text, `${10 - kept} event(s) before this one were not recorded: too many waited`);
});

test("what a killed process has not sent, the next one sends once, and what a running one holds stays with it", async (t) => {
  let isAway = true;
  const proxy = await inFront((_, response) => isAway && response.writeHead(503).end());
  const spool = mkdtempSync(`${tmpdir()}/spool-`);
  const program = `
    const { Session } = await import("${client}");
    const session = new Session("ts-killed", "Shop", { userId: "ines", onError() {} });
    for (let n = 0; n < 30; n += 1) session.sendMessage("message " + n, "user");
    console.log("recorded");
    setInterval(() => {}, 1000);`;
  const env = { ...process.env, COUNTERSIGN_URL: proxy.url, COUNTERSIGN_SPOOL: spool };
  const killed = spawn(process.execPath, ["--input-type=module", "-e", program], { env });
  t.after(() => killed.kill("SIGKILL"));
  await once(killed.stdout, "data");
  const [folder] = readdirSync(spool);
  const [file] = readdirSync(`${spool}/${folder}`);
  const options = { url: proxy.url, spool };
  assert.ok(new Session("ts-other", "Shop", options));
  assert.deepEqual(readdirSync(`${spool}/${folder}`), [file]);
  killed.kill("SIGKILL");
  await once(killed, "exit");
  isAway = false;
  appendFileSync(`${spool}/${folder}/${file}`, '{"client_id": "half a li');
  const next = await Session.create("ts-killed", "Shop", options);
  for (let tries = 0; readdirSync(`${spool}/${folder}`).length && tries < 600; tries += 1) {
    await new Promise((resolve) => { setTimeout(resolve, 100); });
  }
  next.sendMessage("the last one", "user");
  const said = (await next.history({ limit: 100 })).map(({ text }) => text);
  assert.deepEqual(said, [...Array.from({ length: 30 }, (_, n) => `message ${n}`), "the last one"]);
  assert.deepEqual(readdirSync(`${spool}/${folder}`), []);
  proxy.close();
});

test("what is no JSON breaks no program, and is recorded as JavaScript writes it", async () => {
  const told = [];
  const session = new Session("ts-odd", "Shop", { onError: (error) => told.push(error.message) });
  const circle = { name: "circle", when: new Date(0), big: 12n, none: undefined, call() { return 1; } };
  circle.itself = [circle];
  assert.equal(await session.toolCall("draw", circle, () => "drawn"), "drawn");
  assert.equal(session.sendMessage("x", "critic"), "");
  assert.equal(session.usage({ model: "m", inputTokens: 1.5 }), "");
  assert.deepEqual(told, [
    '"critic" is no role: use user, assistant or system', "inputTokens is 1.5: tokens are whole numbers from 0",
  ]);
  await session.flush();
  const [call, result] = await session.events();
  const { name, big, itself } = call.tool.arguments;
  assert.deepEqual([name, big, itself, result.tool.result], ["circle", "12", ["[object Object]"], "drawn"]);
  const strict = new Session("ts-odd", "Shop", { strict: true });
  for (const wrong of [() => strict.record("note", { data: { big: 1n } }), () => strict.sendMessage("x", "critic")]) {
    assert.throws(wrong, TypeError);
  }
});

test("with whenFull wait nothing is dropped, and who awaits waits for room; strict throws", async () => {
  let isAway = true;
  const proxy = await inFront((_, response) => isAway && response.writeHead(503).end());
  const options = { url: proxy.url, limit: 2000, onError() {} };
  const patient = new Session("ts-patient", "Shop", { ...options, whenFull: "wait" });
  for (let n = 0; n < 30; n += 1) assert.notEqual(patient.sendMessage(`message ${n}`), "");
  let hasRoom = false;
  const waiting = patient.toolCall("find", {}, () => { hasRoom = true; });
  await new Promise((resolve) => { setTimeout(resolve, 300); });
  assert.equal(hasRoom, false);
  isAway = false;
  await waiting;
  assert.equal((await patient.history({ limit: 100 })).length, 30);
  isAway = true;
  const strict = new Session("ts-strict", "Shop", { ...options, strict: true });
  assert.throws(() => { for (let n = 0; n < 30; n += 1) strict.sendMessage("x".repeat(100)); }, DeskError);
  assert.throws(() => new Session("x", "Shop", { whenFull: "never" }), TypeError);
  isAway = false;
  await strict.flush();
  proxy.close();
});

test("without a disk that takes events they wait in memory, and it is said", async () => {
  const told = [];
  const session = new Session("ts-no-disk", "Shop", { spool: process.execPath, onError: ({ message }) => told.push(message) });
  session.sendMessage("kept all the same");
  assert.equal(await session.flush(), true);
  assert.match(told.join(), /^events wait in memory alone/);
  new Session("ts-no-disk", "Shop", { spool: false }).sendMessage("no spool wanted");
});

test("state has versions, and two writers lose nothing", async () => {
  const [one, two] = ["a", "b"].map(() => new Session("ts-state", "Shop", { userId: "ines" }));
  assert.equal(await one.getState("cart", "none"), "none");
  assert.equal(await one.setState("cart", ["tea"]), 1);
  assert.deepEqual(await two.getState("cart"), ["tea"]);
  await one.setState("cart", ["tea", "milk"]);
  await assert.rejects(two.setState("cart", []), StateConflict);
  const add = (session) => session.updateState("count", (value) => value + 1, "app", 0);
  await Promise.all(Array.from({ length: 8 }, (_, n) => add(n % 2 ? one : two)));
  assert.equal(await two.getState("app:count"), 8);
  await one.setState("user:language", "pt");
  assert.deepEqual((await two.searchState("pt")).map((one) => [one.key, one.method]), [["language", "full text"]]);
  const near = { embedding: { model: "m", vector: [3, 4] } };
  await two.setState("memory/a", "nothing of it", "user", near);
  const [nearest] = await two.searchState("pt", "user", 1, { prefix: "memory/", ...near });
  assert.deepEqual([nearest.key, nearest.method], ["memory/a", "pgvector"]);
  await one.setState("step", { n: 1 }, "temp");
  assert.deepEqual(await one.getState("step", null, "temp"), { n: 1 });
  assert.equal(await two.deleteState("user:language"), true);
  await one.clearState();
  assert.equal(await one.getState("cart", null), null);
  const bob = new Session("ts-state", "Shop", { userId: "bob" });
  for (const read of [() => bob.getState("user:x"), () => bob.history()]) {
    await assert.rejects(read, /409|of the user "/);
  }
});

test("what is pruned is out of sight, with a summary in its place", async () => {
  const session = await Session.create("ts-long", "Shop", { retention: { maxMessages: 100 } });
  for (let n = 0; n < 60; n += 1) session.sendMessage(`message ${n}`, n % 2 ? "assistant" : "user");
  const would = await session.prune("keep_last_50", { dryRun: true });
  assert.deepEqual([would.pruned, (await session.history({ limit: 100 })).length], [10, 60]);
  await session.prune("sliding_window", { windowSize: 55 });
  const done = await session.prune("summarize_old", { threshold: 20 });
  assert.equal(done.pruned, 35);
  const [first, ...others] = await session.history({ limit: 100 });
  assert.deepEqual([first.role, first.text], ["system", done.summary]);
  assert.deepEqual(others.map(({ text }) => text), Array.from({ length: 20 }, (_, n) => `message ${n + 40}`));
  assert.deepEqual((await session.history({ limit: 2, role: "user" })).map(({ text }) => text), ["message 56", "message 58"]);
  assert.equal((await session.history({ limit: 100, role: "user" })).length, 10);
  assert.equal((await session.history({ limit: 100, includePruned: true })).length, 60);
  assert.equal((await session.events()).length, 60);
  const { max_messages: most, prunings } = await session.retention();
  assert.deepEqual([most, prunings.length], [100, 2]);
  await assert.rejects(session.showPruned(), (error) => error.status === 403);
});

test("another retention of a session that was there is told of", async () => {
  const told = [];
  const onError = (error) => told.push(error.message);
  await Session.create("ts-kept", "Shop", { retention: { ttlDays: 30, pruneStrategy: "keep_last_50" }, onError });
  await Session.create("ts-kept", "Shop", { retention: { ttlDays: 7, pruneStrategy: "keep_last_50" }, onError });
  assert.deepEqual(told, ["this session was there with another retention (ttl_days)"]);
  assert.throws(() => new Session("x", "Shop", { retention: { ttlDay: 1 } }), /"ttlDay" is no word of a retention/);
});

test("an agent's key exports nothing, and a desk that is not there is said", async () => {
  await assert.rejects(new Session("ts-1", "Shop").export(), (error) => error.status === 403);
  const nowhere = new Session("x", "Shop", { url: "http://127.0.0.1:9" });
  await assert.rejects(nowhere.getState("a"), (error) => error instanceof DeskError && error.status === 0);
  assert.equal((await nowhere.approve("pay", {})).allowed, false);
});
