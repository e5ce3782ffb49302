"""The hook command prints one valid decision or ends with status 2, whatever goes wrong."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from countersign.hooks import commands

from .bad_desks import GARBAGE, LIES, answering, lying, nobody, nowhere, pause
from .conftest import SOURCE
from .hooks import CALL, run

CALL_IN_BYTES = json.dumps(CALL).encode()


def test_a_desk_that_approves_lets_the_call_run():
    """Else nothing below would prove anything."""
    with answering(lying(lambda said: None)) as url:
        ran = run(url)
    assert ran.status == 0
    assert (ran.said["permissionDecision"], ran.said["permissionDecisionReason"]) == ("allow", "Approved by Rosa.")
    assert "updatedInput" not in ran.said


@pytest.mark.parametrize("lie", LIES)
def test_an_answer_about_anything_else_is_no(lie):
    with answering(lying(LIES[lie])) as url:
        assert run(url).refuses


@pytest.mark.parametrize("garbage", GARBAGE)
def test_an_answer_that_is_none_is_no(garbage):
    with answering(GARBAGE[garbage]) as url:
        assert run(url).refuses


@pytest.mark.parametrize("desk", [nobody, nowhere], ids=["nobody listens", "packets are lost"])
def test_a_desk_that_cannot_be_reached_is_no(desk):
    with desk() as url:
        assert run(url).refuses


@pytest.mark.parametrize(
    "desk", [{"reply": lambda request: None}, {"reply": lying(lambda said: None), "pace": 0.05}, {"reply": pause(8)}],
    ids=["never answers", "answers byte by byte", "answers too late"],
)  # fmt: skip
def test_a_slow_desk_is_no_and_before_the_time_is_up(desk):
    started = time.monotonic()
    with answering(**desk) as url:
        assert run(url, hold=2).refuses
    assert time.monotonic() - started < 7  # the client would wait for 62 s


@pytest.mark.parametrize(
    "url",
    [
        "",
        "desk",
        "ftp://127.0.0.1",
        "http://",
        "http://user@127.0.0.1",
        "http://127.0.0.1:0/",
        "http://a b",
        "http://ü",
    ],
)
def test_an_address_that_is_none_is_no(url):
    assert run(url).refuses


def test_no_address_is_no_and_says_which_variable_is_missing():
    ran = run(None)
    assert ran.refuses
    assert "COUNTERSIGN_URL is not set" in ran.said["permissionDecisionReason"]


def test_a_key_that_would_break_the_request_is_no():
    with answering(lying(lambda said: None)) as url:
        assert run(url, key="cs_1\r\nX: y").refuses
        assert run(url, key="cs_ü€").refuses


@pytest.mark.parametrize(
    "given",
    [
        b"", b"null", b"[]", b"{", b"\xff\xfe", b"{}", CALL | {"tool_input": "touch made"}, CALL | {"tool_name": None},
        CALL | {"tool_use_id": ""}, CALL | {"hook_event_name": "Stop"}, CALL | {"session_id": 7},
        CALL | {"tool_input": {"n": float("nan")}}, b"[" * 50_000, CALL | {"tool_input": {"text": "\ud800"}},
    ],
    ids=str,
)  # fmt: skip
def test_an_input_that_is_no_call_is_no(given):
    with answering(lying(lambda said: None)) as url:
        assert run(url, given).refuses


def test_a_tool_named_like_a_part_of_the_language_is_asked_about_like_any_other():
    with answering(lying(lambda said: None)) as url:
        for name in ("__proto__", "constructor", "__class__"):
            assert run(url, CALL | {"tool_name": name}).said["permissionDecision"] == "allow"
    with nobody() as url:
        assert run(url, CALL | {"tool_name": "__proto__"}).refuses


@pytest.mark.parametrize("options", ["--hold", "--hold x", "--hold -1", "--hold nan", "--holdon 3", "--hold 1e9"])
def test_a_command_line_that_is_not_understood_is_no(options):
    command = commands.gate("claude-code", "pre-tool-use", *options.split())
    with answering(lying(lambda said: None)) as url:
        assert run(url, command=command).refuses
        assert run(url, command=commands.gate("claude-code", "no-such-event")).refuses
        assert run(url, command=commands.gate("no-such-client", "pre-tool-use")).refuses


@pytest.fixture
def copied(tmp_path):
    """A copy of the package that a test may break, and the command that runs it."""
    shutil.copytree(SOURCE / "countersign", tmp_path / "countersign", ignore=shutil.ignore_patterns("__pycache__"))
    command = commands.gate("claude-code", "pre-tool-use", "--hold", "1")
    return tmp_path / "countersign", command.replace(str(SOURCE), str(tmp_path))


ON_THE_WAY = (
    "hook.py", "hooked.py", "call_events.py", "plain_json.py", "holding.py", "asking.py", "answers.py", "wire.py",
    "canonical.py", "__init__.py", "claude_code/gate.py", "runs.py", "sentences.py",
)  # fmt: skip


@pytest.mark.parametrize("module", ON_THE_WAY)
def test_an_upgrade_in_the_middle_is_no(copied, module):
    """Each file that a call needs, as an installer leaves it for a moment: gone, empty, cut, of another version."""
    package, command = copied
    whole = (package / module).read_bytes()
    cut = whole[: len(whole) // 2]
    with answering(lying(LIES["denied"])) as url:
        for broken in (None, b"", cut, cut + b"(((", b"print('{}')", b"\0\0", b"exit(0)", b"import os; os._exit(0)"):
            if broken is None:
                (package / module).unlink()
            else:
                (package / module).write_bytes(broken)
            ran = run(url, command=command)
            assert ran.refuses, (module, broken, ran)


def test_every_module_that_a_call_needs_is_broken_once_above():
    """The list above is what is imported, so that a new module cannot be forgotten."""
    script = """if True:
        import sys
        sys.path.insert(0, sys.argv[1])
        import countersign.claude_code.gate
        import countersign.hook, countersign.hooked, countersign.sentences
        print(*(module.__file__ for name, module in sys.modules.items() if name.startswith("countersign")), sep="\\n")
    """
    python = [sys.executable, "-I", "-S", "-c", script, str(SOURCE)]
    done = subprocess.run(python, capture_output=True, text=True, check=True)
    needed = {os.path.relpath(name, SOURCE / "countersign") for name in done.stdout.split()}
    assert needed - {"claude_code/__init__.py"} == set(ON_THE_WAY)
    assert (SOURCE / "countersign/claude_code/__init__.py").read_text() == ""


def test_a_python_that_is_gone_is_no(copied):
    package, command = copied
    with answering(lying(lambda said: None)) as url:
        assert run(url, command=command.replace(sys.executable, "/no/such/python")).status == 2
        assert run(url, command=command.replace(sys.executable, "/bin/true")).status == 2
        assert run(url, command=command.replace(sys.executable, "/bin/echo")).status == 2


def test_a_start_file_of_the_machine_cannot_print_into_the_decision(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("print('hello')")
    (tmp_path / "json.py").write_text("raise SystemExit(0)")
    with answering(lying(lambda said: None)) as url:
        ran = run(url, PYTHONPATH=str(tmp_path), PYTHONSTARTUP=str(tmp_path / "sitecustomize.py"))
    assert ran.said["permissionDecision"] == "allow"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGHUP, signal.SIGALRM])
def test_a_signal_while_it_waits_is_no(number):
    with answering(lambda request: None) as url:
        command = commands.gate("claude-code", "pre-tool-use", "--hold", "30")
        environment = {"PATH": os.environ["PATH"], "COUNTERSIGN_URL": url, "COUNTERSIGN_API_KEY": "cs_test"}
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        # Whoever runs the tests in the background may have these ignored, and every process below with them.
        shell = subprocess.Popen(["/bin/sh", "-c", command], env=environment, preexec_fn=_take_all_signals, **pipes)
        shell.stdin.write(CALL_IN_BYTES)
        shell.stdin.close()
        shell.stdin = None
        hook = _child_of(shell.pid)
        os.kill(hook, number)
        printed, _ = shell.communicate(timeout=20)
    assert (shell.returncode, printed) == (2, b"")


def test_a_hook_that_runs_by_itself_ends_in_2_when_it_is_terminated():
    with answering(lambda request: None) as url:
        environment = {"COUNTERSIGN_URL": url, "COUNTERSIGN_API_KEY": "cs_test"}
        command = [sys.executable, "-I", "-S", str(commands.HOOK), "claude-code", "pre-tool-use"]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        hook = subprocess.Popen(command, env=environment, **pipes)
        hook.stdin.write(CALL_IN_BYTES)
        hook.stdin.close()
        hook.stdin = None
        time.sleep(0.5)
        hook.terminate()
        printed, _ = hook.communicate(timeout=20)
    assert (hook.returncode, printed) == (2, b"")


def test_a_pipe_that_nobody_reads_is_no():
    with answering(lying(lambda said: None)) as url:
        command = commands.gate("claude-code", "pre-tool-use", "--hold", "1")
        ran = run(url, command=f"{{ ({command}); echo $? >&2; }} | true")
    assert ran.complained.endswith("2\n")


def test_a_closed_output_is_no():
    with answering(lying(lambda said: None)) as url:
        command = commands.gate("claude-code", "pre-tool-use", "--hold", "1")
        assert run(url, command=f"exec >&-; {command}").status == 2


def test_the_console_command_says_the_same(tmp_path):
    script = tmp_path / "countersign"
    lines = ("import sys", f"sys.path.insert(0, {str(SOURCE)!r})", "from countersign.cli import main", "main()")
    script.write_text("\n".join((f"#!{sys.executable}", *lines)))
    script.chmod(0o755)
    with answering(lying(lambda said: None)) as url:
        ran = run(url, command=f"{script} hook claude-code pre-tool-use")
        assert (ran.status, ran.said["permissionDecision"]) == (0, "allow")
        assert run(url, b"x", command=f"{script} hook claude-code pre-tool-use").status == 2
        assert run(url, command=f"{script} hook").status == 2


def test_many_at_once_answer_each_for_itself():
    calls = [
        CALL | {"tool_use_id": f"toolu_{number}", "tool_input": {"command": f"touch {number}"}} for number in range(12)
    ]
    with answering(lying(lambda said: None)) as url, ThreadPoolExecutor(6) as pool:
        ran = list(pool.map(lambda call: run(url, call, hold=10), calls))
    assert [one.said["permissionDecision"] for one in ran] == ["allow"] * 12


def _take_all_signals() -> None:
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _child_of(pid: int) -> int:
    """The process that a shell started, when it is there and waits."""
    for _ in range(200):
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True
        ).stdout.split()
        if children:
            time.sleep(0.4)  # until it has read its input and asks
            return int(children[0])
        time.sleep(0.02)
    raise AssertionError("the shell started nothing")
