"""Rules that mark a session: what each finds, and above all what it leaves alone."""

from __future__ import annotations

import random
import string
from pathlib import Path
from typing import Any

import orjson
import pytest

from sessions_app.drafts import EventDraft
from sessions_app.phrases import Phrase, in_language
from sessions_app.summary.card import Ending, lines_of, plain
from sessions_app.summary.destructive import SAID, destroyed
from sessions_app.summary.findings import IN_TEXTS, NAMES, RULES, worded
from sessions_app.summary.places_outside import written_outside
from sessions_app.summary.secret_shapes import named_in
from sessions_app.summary.state import Summary
from tests.summary.test_state import asked, call, result, said

CWD = "/srv/shop"
_DRAWN = random.Random(11)


def drawn(count: int, letters: str = string.ascii_letters + string.digits) -> str:
    return "".join(_DRAWN.choices(letters, k=count))


TOKEN = f"ghp_{drawn(36)}"


def found(events: list[EventDraft], every: int = 0, cwd: str = CWD) -> dict[str, Any]:
    """What the rules find, by rule; the summary is stored and read again after each ``every`` events."""
    summary, seqs = Summary(cwd=cwd), {}
    for seq, event in enumerate(events, start=1):
        summary.take(seq, seqs.get(event.parent), event)
        seqs[event.key] = seq
        if every and seq % every == 0:
            summary = Summary(orjson.loads(orjson.dumps(summary.stored())), cwd)
    return {finding.rule: finding for finding in summary.findings}


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("rm -rf ~/photos", "deletes a folder outside of the working directory"),
        ("cd web && rm -r /srv/other/data", "deletes a folder outside of the working directory"),
        ("rm -rf .git", "deletes everything there"),
        ("sudo rm -fr /", "deletes everything there"),
        ("bash -c 'rm -rf $HOME'", "deletes everything there"),
        ("git push -f origin main", "rewrites or deletes a branch for everybody"),
        ("git push origin +main", "rewrites or deletes a branch for everybody"),
        ("make && git reset --hard HEAD~3", "throws changes away"),
        ("git clean -fdx", "throws changes away"),
        ("git checkout .", "throws changes away"),
        ("git stash clear", "throws changes away"),
        ("psql shop -c 'DROP TABLE orders'", "deletes data"),
        ("mysql -e 'DELETE FROM orders'", "deletes data"),
        ("find ~ -name '*.jpg' -delete", "deletes files outside of the working directory"),
        ("dd if=image.iso of=/dev/sda", "overwrites a disk"),
        ("kubectl delete namespace shop", "takes down what runs or is stored"),
        ("terraform destroy -auto-approve", "takes down what runs or is stored"),
        ("docker volume rm shop_data", "takes down what runs or is stored"),
        ("aws s3 rm s3://shop --recursive", "takes down what runs or is stored"),
        ("redis-cli FLUSHALL", "deletes data"),
    ],
)
def test_a_command_that_destroys(command, words):
    found = destroyed("Bash", {"command": command}, command, CWD)
    assert found and found[0] == words


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build node_modules", "rm -rf /srv/shop/dist", "rm -rf /tmp/x /var/folders/a/b", "rm notes.txt",
        "cd build && rm -rf *", 'rm -rf "$OUT"', "rm -rf ~/.cache/pip", "echo 'rm -rf /'", "grep -rn 'rm -rf ~' docs",
        "cat > clean.sh <<'EOF'\nrm -rf ~\nEOF", "git commit -m 'reset --hard is gone'", "git push origin main",
        "git push --force-with-lease", "git clean -n", "git reset HEAD a.py", "git checkout main", "git stash pop",
        "git restore --staged .", "psql -c 'SELECT * FROM orders'", "mysql -e 'DELETE FROM orders WHERE id = 1'",
        "find . -name '*.pyc' -delete", "dd if=a of=b.img", "dd if=a of=/dev/null", "kubectl get pods",
        "kubectl delete pod x --dry-run=client", "terraform plan", "docker rm web", "npm run delete", "gh repo view",
    ],
)  # fmt: skip
def test_housekeeping_is_no_finding(command):
    assert destroyed("Bash", {"command": command}, command, CWD) is None


@pytest.mark.parametrize(
    ("tool", "arguments", "is_found"),
    [
        ("delete_customer", {"id": 4}, True), ("mcp__crm__dropTable", {}, True), ("purge_queue", {}, True),
        ("run_sql", {"query": "truncate table orders"}, True), ("delete_file", {"path": "a"}, False),
        ("delete_todo", {}, False), ("remove_label", {}, False), ("dropdown_select", {}, False),
        ("run_sql", {"query": "delete from orders where id = 4"}, False), ("Edit", {"new_string": "drop table"}, False),
    ],
)  # fmt: skip
def test_a_tool_that_destroys(tool, arguments, is_found):
    assert bool(destroyed(tool, arguments, "", CWD)) is is_found


def test_where_nobody_says_the_working_directory_no_path_is_outside_but_home():
    assert destroyed("Bash", None, "rm -rf /srv/other", "") is None
    assert destroyed("Bash", None, "rm -rf ~/photos", "")
    assert written_outside(["/etc/hosts"], "", "") == ""


@pytest.mark.parametrize(
    ("path", "is_outside"),
    [
        ("/etc/hosts", True), ("~/.bashrc", True), ("../secrets.env", True), ("/srv/shop-two/a.py", True),
        ("/srv/shop/a.py", False), ("a.py", False), ("./web/../a.py", False), ("/tmp/a", False), ("/dev/null", False),
        ("/private/var/folders/x/a", False), ("/home/ann/.claude/plans/a.md", False),
        ("/home/ann/.claude/settings.json", True), ("~/.codex/memories/a.md", False),
    ],
)  # fmt: skip
def test_a_file_outside(path, is_outside):
    assert bool(written_outside([path], "", CWD)) is is_outside


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("echo x >> ~/.bashrc", "~/.bashrc"), ("cp key.pem /etc/ssl/key.pem", "/etc/ssl/key.pem"),
        ("cd /etc && sed -i s/a/b/ hosts", "/etc/hosts"), ("cat /etc/hosts", ""), ("ls ~ > files.txt", ""),
        ("make 2> /dev/null", ""), ("cp /etc/hosts .", ""), ("pytest > /tmp/out 2>&1", ""), ("mkdir -p ~/x", ""),
    ],
)  # fmt: skip
def test_a_file_that_a_command_writes_outside(command, path):
    assert written_outside([], command, CWD) == path


def test_secrets_are_named():
    assert named_in(f"remote: {TOKEN}.") == ["GitHub token"]
    assert named_in(f"key = sk-ant-api03-{drawn(93)}") == ["Anthropic API key"]
    assert named_in(f"AWS_SECRET_ACCESS_KEY={drawn(40)}") == ["AWS secret key"]
    assert named_in(f"postgres://app:{drawn(14)}7@db.shop.io/main") == ["password in an address"]
    pem = "\n".join(drawn(64) for _ in range(4))
    assert named_in(f"-----BEGIN RSA PRIVATE KEY-----\n{pem}\n") == ["private key"]


@pytest.mark.parametrize(
    "text",
    [
        "ghp_" + "x" * 36, "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "sk-ant-api03-" + "abcdefgh" * 12, "postgres://postgres:postgres@localhost:5432/x", "sk-learn-contrib-project",
        "postgres://user:password@db.example.com/x", "-----BEGIN PRIVATE KEY-----\n...", "password: hunter2hunter2",
        "postgres://${USER}:${PASS}@db.shop.io/x", "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    ],
)  # fmt: skip
def test_what_documentation_writes_in_place_of_a_secret_is_none(text):
    assert named_in(text) == []


def test_a_secret_is_found_wherever_it_stands_and_never_repeated():
    run = [
        asked(f"Use {TOKEN}"), call("a", arguments=f"curl -H 'Authorization: {TOKEN}' https://api.shop.io"),
        result("a", f"{'x' * 9_000} {TOKEN}"), call("b", arguments=f"rm -rf ~/x {TOKEN}"), result("b"), said(TOKEN),
    ]  # fmt: skip
    marked = found(run)
    assert [place.words for place in marked["secret_in_text"].places] == [
        "GitHub token in a prompt", "GitHub token in a call", "GitHub token in a result",
    ]  # fmt: skip
    assert marked["secret_in_text"].count == 5
    summary = Summary(cwd=CWD)
    for seq, event in enumerate(run, start=1):
        summary.take(seq, None, event)
    assert TOKEN not in str([finding.places for finding in summary.findings])


def test_a_key_of_a_web_page_is_everybodys():
    page = [call("a", "WebFetch", {"url": "https://shop.io"}), result("a", f"AIza{drawn(35)}")]
    assert not found(page)
    assert found([call("a", "Read", {"file_path": "/a"}), result("a", f"AIza{drawn(35)}")])


def test_an_error_of_which_nothing_of_its_kind_succeeded_later_is_left():
    broken = [call("a", arguments="npm install left-pad"), result("a", "npm ERR! 404", "error")]
    assert found(broken)["error_left"].places[0][:1] == (1,)
    assert not found([*broken, call("b", arguments="npm ci"), result("b")])
    edit = [call("a", "Edit", {"file_path": "/srv/shop/a.py"}), result("a", "String to replace not found", "error")]
    assert found(edit)
    written = [call("b", "Write", {"file_path": "/srv/shop/a.py", "content": "a"}), result("b")]
    assert not found([*edit, *written])
    elsewhere = [call("b", "Write", {"file_path": "/srv/shop/b.py", "content": "a"}), result("b")]
    assert found([*edit, *elsewhere])


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("Bash", "grep -rn x .", ""), ("Bash", "python3 -c 'print(1/0)'", "ZeroDivisionError"),
        ("Bash", "ls nowhere", ""),
        ("Read", {"file_path": "/none"}, "no such file"), ("WebFetch", {"url": "https://x.y"}, "404"),
        ("get_order", {"id": 4}, "not found"), ("Bash", "npm install x", "The user doesn't want to proceed"),
        ("replace", {"file_path": "/a", "old_string": "a", "new_string": "a"}, "no changes were necessary"),
        ("Bash", "git log nowhere", "fatal: bad revision"), ("Bash", "pytest", "boom"),
    ],
)  # fmt: skip
def test_an_answer_is_no_error(tool, arguments, text):
    assert "error_left" not in found([call("a", tool, arguments), result("a", text, "error")])


def test_an_error_of_the_run_is_left_where_it_ends_with_it():
    error = EventDraft("error", key="e", text="overloaded")
    assert found([asked("a"), error])["error_left"].places[0].quoted == "overloaded"
    assert not found([asked("a"), error, said("There I am again")])


def test_tests_that_fail_at_the_end():
    failing = [call("a", arguments="pytest -q"), result("a", "1 failed, 6 passed", "error")]
    assert list(found(failing)) == ["tests_failing"]
    assert not found([*failing, call("b", arguments="pytest -q"), result("b", "7 passed")])
    assert not found([call("a", arguments="npm test"), result("a", 'Missing script: "test"', "error")])


def test_what_was_not_done_is_not_found():
    destroying = call("a", arguments="rm -rf ~/photos")
    assert not found([destroying]) and not found([destroying, result("a", "", "denied")])
    assert "destructive_command" in found([destroying, result("a", "rm: cannot remove", "error")])
    outside = call("a", "Write", {"file_path": "/etc/hosts", "content": "x"})
    assert "outside_directory" not in found([outside, result("a", "permission denied", "error")])
    assert "outside_directory" in found([outside, result("a")])


EVERYTHING = [
    asked(f"Deploy with {TOKEN}"), call("a", arguments="rm -rf ~/photos"), result("a"),
    call("b", "Write", {"file_path": "/etc/hosts", "content": "x"}), result("b"),
    call("c", arguments="npm publish"), result("c", "npm ERR! 403", "error"),
    call("d", arguments="pytest"), result("d", "2 failed, 1 passed", "error"), said("Done"),
]  # fmt: skip


def test_in_how_many_pieces_the_events_come_does_not_matter():
    whole = found(EVERYTHING)
    assert set(whole) == set(NAMES)
    assert all(found(EVERYTHING, every) == whole for every in (1, 2, 3))


def test_the_card_tells_them_with_the_desks_words_and_quotes_apart():
    summary = Summary(cwd=CWD)
    for seq, event in enumerate(EVERYTHING, start=1):
        summary.take(seq, None if not event.parent else {"a": 2, "b": 4, "c": 6, "d": 8}[event.parent], event)
    lines = lines_of(summary, Ending())
    assert plain(lines[-1:]) == (
        "Findings: Error not recovered: “npm ERR! 403” · File outside the working directory: “/etc/hosts” · Command"
        " that destroys: deletes a folder outside of the working directory: “rm -rf ~/photos” · Secret in the text:"
        " GitHub token in a prompt · Tests left failing: pytest: “2 failed, 1 passed”"
    )
    assert [piece.seq for piece in lines[-1].pieces] == [6, 4, 2, 1, 8]
    assert lines_of(summary, Ending(), off=NAMES)[-1].label == "Tests"
    again = Summary(orjson.loads(orjson.dumps(summary.stored())), cwd=CWD)
    pieces = lines_of(again, Ending())[-1].pieces
    said = [
        in_language(piece.text, lambda message, *_: message if "%" in message else f"[{message}]") for piece in pieces
    ]
    assert said[2] == "[Command that destroys]: [deletes a folder outside of the working directory]:"
    assert said[4] == "[Tests left failing]: pytest:"


@pytest.mark.parametrize("words", [*SAID, *(f"GitHub token {where}" for where in IN_TEXTS)])
def test_what_a_finding_says_is_a_message_once_it_was_stored(words):
    assert worded(f"{words}") == words and isinstance(worded(f"{words}"), Phrase)


@pytest.mark.parametrize("words", ["", "pytest", "in a prompt", "x in a hurry", " in a "])
def test_other_words_stay_as_they_are(words):
    assert worded(words) == words and not isinstance(worded(words), Phrase)


def test_what_is_kept_is_bounded():
    paths = [call(f"a{n}", "Write", {"file_path": f"/etc/{'門' * 90}{n}", "content": "x"}) for n in range(40)]
    failed = [call(f"f{n}", f"tool{n}{'門' * 90}", {}) for n in range(40)]
    results = [result(f"f{n}", "門" * 900, "error") for n in range(40)]
    both = [each for pair in zip(failed, results, strict=True) for each in pair]
    summary = Summary(cwd=CWD)
    seqs = {event.key: seq for seq, event in enumerate([*paths, *both], start=1)}
    for seq, event in enumerate([*paths, *both], start=1):
        summary.take(seq, seqs.get(event.parent), event)
    kept = {finding.rule: finding for finding in summary.findings}
    assert kept["outside_directory"].count == 29, "the last ones have no result"
    assert len(kept["outside_directory"].places) == 3
    assert kept["error_left"].count == 40
    assert len(orjson.dumps(summary.stored()["findings"])) < 4_000


def test_the_page_of_the_documentation_has_the_rules_as_they_are():
    page = (Path(__file__).parents[2] / "docs" / "findings.md").read_text()
    rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| `")]
    assert [[cell.strip().strip("`") for cell in row[:3]] for row in rows] == [list(rule) for rule in RULES]


def test_half_of_a_surrogate_pair_hides_no_secret():
    key = "glpat-" + "aB3dE5gH7jK9mN1pQ4sT"
    assert named_in(f"\ud83d the token is {key} \ud83d") == named_in(f"the token is {key}") == ["GitLab token"]
