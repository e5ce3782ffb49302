"""The most restrictive rule that matches wins, and nothing that goes wrong opens the gate."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from itertools import product

import pytest

from sessions_app.policy import conditions
from sessions_app.policy.agent_rules import AgentRules
from sessions_app.policy.conditions import Call
from sessions_app.policy.evaluation import RuleSet, evaluate
from sessions_app.policy.reading import compile_rules
from sessions_app.policy.terms import decisions_allowed, higher

from .build import argument, effect, outcome, rule


def test_no_rule_asks():
    assert effect([]) == "ask"
    assert effect([rule("allow", tool="read")]) == "ask"


@pytest.mark.parametrize(
    ("effects", "expected"),
    [(["allow"], "allow"), (["allow", "ask"], "ask"), (["deny", "allow", "ask"], "deny"), (["ask", "deny"], "deny")],
)
def test_the_most_restrictive_wins_in_any_order(effects, expected):
    rules = [rule(one, f"{number}") for number, one in enumerate(effects)]
    assert effect(rules) == effect(rules[::-1]) == expected


def test_the_rules_that_led_to_it_are_named():
    rules = [rule("allow", "reading"), rule("deny", "no payments", tool="pay"), rule("deny", "never", tool="p*")]
    assert outcome(rules).rule == "no payments; never"


@pytest.mark.parametrize("tool", ["__proto__", "constructor", "toString", "hasOwnProperty", "", "*", "pay\0", "PAY"])
def test_tools_with_odd_names_match_no_rule_by_chance(tool):
    assert effect([rule("allow", tool="pay")], tool) == "ask"
    assert effect([rule("allow", "one", tool="p*y"), rule("allow", "two", server="bank")], tool) == "ask"
    assert (
        AgentRules({"tools": {"pay": "allow"}, "default": "deny"}, "own").verdicts(Call(tool, {}))[0].effect == "deny"
    )


def test_a_name_that_only_looks_the_same_is_another_name():
    assert effect([rule("allow", tool="pay")], "p\u0430y") == "ask", "a Cyrillic letter"
    assert effect([rule("allow", "all"), rule("deny", tool="pay")], "pay\u200b") == "ask", "a space of no width"
    assert effect([rule("allow", tool="pay*")], "pay\u202e") == "ask"


@pytest.mark.parametrize(
    ("pattern", "tool", "matches"),
    [("a*c", "abc", True), ("a*c", "ac", True), ("a?c", "ac", False), ("[ab]", "a", False), ("[ab]*", "[ab]x", True),
     ("a*", "A", False), ("a*c", "a\nc", True), ("*", "", True), ("a**b", "ab", True)],
)  # fmt: skip
def test_globs(pattern, tool, matches):
    assert (effect([rule("allow", tool=pattern)], tool) == "allow") is matches


def test_a_rule_that_cannot_be_read_asks_for_every_call_and_is_named():
    rules = [rule("allow"), {"name": "odd", "effect": "deny", "match": {"tols": "x"}}]
    made = outcome(rules)
    assert (made.effect, made.rule) == ("ask", "odd")
    assert 'there is no field "tols"' in made.faults[0]
    assert effect([rule("allow"), 7]) == "ask"
    assert evaluate(Call("pay", {}), [RuleSet(compile_rules({"rules": []}), "policy 1")]).effect == "ask"


@pytest.mark.parametrize(
    "arguments", [{}, {"amount": None}, {"amount": "a lot"}, {"amount": True}, {"amount": [5000]}, []]
)
def test_what_cannot_be_compared_restricts_and_does_not_allow(arguments):
    allowing = [rule("allow", arguments=argument("/amount", "<", 100))]
    denying = [rule("allow", "all"), rule("deny", arguments=argument("/amount", ">", 1000))]
    asking = [rule("allow", "all"), rule("ask", arguments=argument("/amount", ">", 1000), ask={"approvals": 2})]
    assert effect(allowing, arguments=arguments) == "ask"
    assert effect(denying, arguments=arguments) == "ask"
    assert outcome(denying, arguments=arguments).faults == (
        "deny: the argument /amount is missing, hidden or of another type than in the rule",
    )
    made = outcome(asking, arguments=arguments)
    assert (made.effect, made.terms) == ("ask", {"approvals": 2})


def test_a_condition_that_does_not_hold_settles_what_cannot_be_told():
    denying = rule("deny", arguments=argument("/path", "exists", True) + argument("/path", "glob", "/etc/*"))
    assert effect([rule("allow"), denying], arguments={"other": 1}) == "allow"
    assert effect([rule("allow"), rule("deny", tool="x", arguments=argument("/a", "=", 1))]) == "allow"


def test_an_allowing_rule_of_which_it_cannot_be_told_does_not_undo_another():
    rules = [rule("allow", "small", arguments=argument("/amount", "<", 100)), rule("allow", "reading", tool="pay")]
    made = outcome(rules)
    assert (made.effect, made.rule, len(made.faults)) == ("allow", "reading", 1)


def test_conditions_on_how_the_call_came_about():
    assert effect([rule("allow", agents=["refund-*"])], agent_slug="refund-agent") == "allow"
    assert effect([rule("allow", agents=["Refund agent"])], agent_name="Refund agent") == "allow"
    assert effect([rule("allow", agents=["refund"])], agent_slug="refund-agent") == "ask"
    assert effect([rule("allow", server="bank")], server="bank") == "allow"
    assert effect([rule("allow", server="bank")], server=None) == "ask"
    assert effect([rule("allow", triggers=["chat"])], trigger="chat") == "allow"
    assert effect([rule("allow", triggers=["chat"])], trigger="webhook") == "ask"
    assert effect([rule("allow"), rule("deny", triggers=["chat"])], trigger=None) == "ask"
    assert effect([rule("allow"), rule("deny", sub_agent=True)], sub_agent=True) == "deny"
    assert effect([rule("allow"), rule("deny", sub_agent=True)], sub_agent=False) == "allow"


def test_size_and_cost():
    over = [rule("allow"), rule("deny", input_bytes_over=10)]
    assert effect(over, arguments={"a": "é"}) == "allow", '{"a":"é"} has 10 bytes'
    assert effect(over, arguments={"a": "éx"}) == "deny"
    dear = [rule("allow"), rule("deny", cost_over="5.00")]
    assert effect(dear, cost=Decimal("5.00")) == "allow"
    assert effect(dear, cost=Decimal("5.01"), cost_is_whole=False) == "deny"
    assert effect(dear, cost=Decimal("1"), cost_is_whole=False) == "ask", "it is at least one dollar"
    assert effect(dear, cost=None) == "ask"


@pytest.mark.parametrize(
    ("hours", "at", "within"),
    [
        ({"days": ["mon"], "from": "09:00", "to": "18:00"}, "2026-11-23T07:59:59", False),
        ({"days": ["mon"], "from": "09:00", "to": "18:00"}, "2026-11-23T08:00:00", True),
        ({"days": ["mon"], "from": "09:00", "to": "18:00"}, "2026-11-23T17:00:00", False),
        ({"days": ["mon"]}, "2026-11-22T23:00:00", True),
        ({"days": ["mon"]}, "2026-11-23T23:00:00", False),
        ({"days": ["fri"], "from": "22:00", "to": "06:00"}, "2026-11-28T04:59:00", True),
        ({"days": ["fri"], "from": "22:00", "to": "06:00"}, "2026-11-27T04:00:00", False),
        ({"from": "02:30", "to": "24:00"}, "2026-07-06T00:30:00", True),
    ],
)
def test_hours_are_on_the_clock_of_their_zone(hours, at, within):
    """Berlin is an hour ahead of UTC in November, two in July."""
    when = datetime.fromisoformat(at).replace(tzinfo=UTC)
    rules = [rule("allow", hours=hours | {"zone": "Europe/Berlin"})]
    assert (effect(rules, now=when) == "allow") is within
    assert effect([rule("allow"), rule("deny", hours={"zone": "UTC"})], now=None) == "ask"


def test_terms_are_the_strictest_of_every_rule_that_asks():
    one = {"decisions": ["approve", "edit", "deny"], "approvals": 2, "expires_in": 600, "risk": "low",
           "comment": ["deny"], "eligible": {"roles": ["reviewer"]},
           "escalation": [{"after": 60, "to": ["role:admin"]}]}  # fmt: skip
    other = {"decisions": ["approve", "always"], "approvals": 1, "expires_in": 60, "risk": "high",
             "comment": ["approve"], "eligible": {"members": ["ada@example.org"]}, "not_initiator": True,
             "escalation": [{"after": 30, "to": ["channel:ops"]}]}  # fmt: skip
    made = outcome([rule("ask", "one", ask=one), rule("ask", "other", ask=other), rule("allow", "all")])
    assert made.terms == {
        "decisions": ["approve", "deny"],
        "approvals": 2,
        "expires_in": 60,
        "risk": "high",
        "comment": ["approve", "deny"],
        "not_initiator": True,
        "eligible": {"roles": ["reviewer"], "and": [{"members": ["ada@example.org"]}]},
        "escalation": [{"after": 30, "to": ["channel:ops"]}, {"after": 60, "to": ["role:admin"]}],
    }
    assert decisions_allowed(made.terms) == ("approve", "deny")


def test_rules_that_share_no_decision_leave_the_denial():
    """An empty list would read as "anything goes" to whoever looks at it carelessly."""
    asks = [rule("ask", "one", ask={"decisions": ["approve"]}), rule("ask", "two", ask={"decisions": ["answer"]})]
    assert outcome(asks).terms["decisions"] == ["deny"]


def test_risks():
    assert higher("low", "critical") == higher("critical", "low") == "critical"
    assert higher("destructive", "low") == "low"
    assert higher("destructive", "") == higher("", "destructive") == "destructive"
    assert "always" in decisions_allowed({}, "medium")
    assert "always" not in decisions_allowed({}, "high")
    assert "always" not in decisions_allowed({"risk": "critical"}, "low")


def own(policy, tool="pay", server=None, rules=(), **about):
    call = Call(tool, {}, server=server, **about)
    return evaluate(call, [RuleSet(compile_rules(list(rules)), "policy 1"), AgentRules(policy, "own rules")]).effect


def test_an_agents_own_rules_and_the_workspaces_restrict_each_other():
    allowing = [rule("allow", tool="pay")]
    assert own({}, rules=allowing) == "allow", "an agent that says nothing leaves it to the workspace"
    assert own({"default": "deny"}, rules=allowing) == "deny"
    assert own({"default": "ask"}, rules=allowing) == "ask"
    assert own({"default": "allow"}, rules=[rule("deny", tool="pay")]) == "deny"
    assert own({"default": "deny", "tools": {"pay": "allow"}}) == "allow", "its default is for what its rules leave"
    assert own({"default": "allow", "tools": {"bank/pay": "deny"}}, server="bank") == "deny"
    assert own({"tools": {"bank/pay": "allow", "pay": "deny"}}, server="bank") == "allow"
    assert own({"default": "deny", "rules": allowing}) == "allow"
    assert own({"default": "allwo"}, rules=allowing) == "ask"
    assert own({"tools": {"pay": {"effect": "allow"}}}, rules=allowing) == "ask"
    assert own({"rules": "none"}, rules=allowing) == "ask"


def test_a_default_that_denies_is_not_softened_by_a_rule_of_which_it_cannot_be_told():
    uncertain = [rule("ask", arguments=argument("/amount", ">", 5))]
    assert own({"default": "deny", "rules": uncertain}) == "deny"
    assert own({"default": "allow", "rules": uncertain}) == "ask"


def test_every_rule_that_may_be_about_a_tool_is_looked_at_and_in_its_order():
    """Rules on tools are found by what their patterns begin with; trying each of them finds the same."""
    patterns = ["a", "ab", "a*", "*", "?", "a?", "*b", "ab*c", "abc*", "?b*", "A*", "b", None]
    written = [rule("ask", f"{n}", **({"tool": one} if one else {})) for n, one in enumerate(patterns)]
    rules = RuleSet(compile_rules(written), "policy 1")
    names = ["".join(letters) for size in range(5) for letters in product("abcA", repeat=size)]
    for tool in [*names, "ab\u200b", "\u00e4b", "abc\u202e"]:
        call = Call(tool, {})
        tried = [one for one in rules.rules if conditions.all_of(one.kind, call) is not False]
        assert [one for one, _, _ in rules._candidates(call)] == tried, tool


def test_calls_of_one_kind_remember_no_arguments():
    rules = RuleSet(compile_rules([rule("allow", arguments=argument("/amount", "<", 100))]), "policy 1")
    effects = [evaluate(Call("pay", {"amount": amount}), [rules]).effect for amount in (5, 500, 5)]
    assert effects == ["allow", "ask", "allow"]
    for number in range(5_000):
        evaluate(Call(f"tool-{number}", {}), [rules])
    assert len(rules._of_kind) <= 2_000
