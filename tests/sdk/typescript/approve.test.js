// What a person decides, and answers that are not about this very call. Run by test_typescript.py.

import assert from "node:assert/strict";
import http from "node:http";
import { test } from "node:test";

const { Session } = await import("../../../sdk/ts/index.js");
const ASKED = { order: "4711", amount: 40.5, note: "é\u2028 😀", nested: { b: [1, 2.5e-7, null], a: true } };

test("a call runs with what was decided", async () => {
  const session = new Session("ts-approve", "Shop");
  const decision = await session.approve("refund", ASKED, { expiresIn: 3600 });
  assert.equal(decision.allowed, true, decision.reason);
  assert.equal(decision.edited, false);
  assert.deepEqual(decision.arguments, ASKED);
  const edited = await session.approve("refund", ASKED, { expiresIn: 3600 });
  assert.equal(edited.edited, true, edited.reason);
  assert.deepEqual(edited.arguments, { order: "4711", amount: 4 });
  const denied = await session.approve("refund", ASKED, { expiresIn: 3600 });
  assert.deepEqual([denied.allowed, denied.status], [false, "denied"]);
});

test("an answer about another call is no", async () => {
  for (const lie of [(said) => { said.decision.digest = "0".repeat(64); }, (said) => { said.client_id = "x"; },
    (said) => { said.tool.arguments = {}; }, (said) => { said.status = "fine"; }]) {
    const server = http.createServer(async (request, response) => {
      const parts = [];
      for await (const part of request) parts.push(part);
      const asked = JSON.parse(Buffer.concat(parts));
      const said = { id: "a1", session_id: "5", client_id: asked.client_id, tool: asked.tool, status: "approved",
        decision: { digest: "1".repeat(64) } };
      if (asked.tool) lie(said);
      response.end(JSON.stringify(asked.tool ? said : { id: "5" }));
    });
    await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
    const session = new Session("x", "Shop", { url: `http://127.0.0.1:${server.address().port}`, apiKey: "k" });
    const decision = await session.approve("refund", { order: "4711" });
    assert.deepEqual([decision.allowed, decision.status, decision.arguments], [false, "failed", undefined]);
    server.close();
  }
});
