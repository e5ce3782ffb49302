"""``countersign doctor hooks`` proves that what is installed fails closed, and finds what does not."""

from __future__ import annotations

import json

import pytest
from countersign.doctor.model_apis import ModelApis

from .real_clients import ClaudeCode
from .test_hooks_install import client, countersign, install  # noqa: F401 - a fixture


@pytest.fixture
def settings(tmp_path, client):  # noqa: F811
    path = tmp_path / "settings.json"
    assert install(path, client, "--yes", "--hold", "1").returncode == 0
    return path


def doctor(settings, client):  # noqa: F811
    return countersign("doctor", "hooks", "claude-code", "--settings", str(settings), "--client", str(client))


def changed(settings, **more):
    """The settings with every hook of ours changed."""
    whole = json.loads(settings.read_text())
    for groups in whole["hooks"].values():
        for group in groups:
            group["hooks"] = [hook | more for hook in group["hooks"]]
    settings.write_text(json.dumps(whole))


def failures(said: str) -> list[str]:
    return [line.strip() for line in said.splitlines() if line.strip().startswith("FAIL")]


def test_each_installed_command_is_tried_with_every_wrong_desk(settings, client):  # noqa: F811
    said = doctor(settings, client).stdout
    for event in ("PreToolUse", "PermissionRequest"):
        assert f"ok    {event}, the desk approving: allowed" in said
        for desk in ("stopped", "slow", "garbage", "mistaken"):
            assert f"ok    {event}, the desk {desk}: refused" in said
    assert failures(said) == [line.strip() for line in said.splitlines() if "could not be tried" in line]


OPEN_COMMANDS = {
    "it prints nothing": "cat >/dev/null # countersign/hook.py",
    "it prints something": "echo '{}' # countersign/hook.py",
    "it prints broken JSON": "echo '{' # countersign/hook.py",
    "it fails with another status": "exit 1 # countersign/hook.py",
    "it always allows": """echo '{"hookSpecificOutput": {"permissionDecision": "allow"}}' # countersign/hook.py""",
    "it asks": """echo '{"hookSpecificOutput": {"permissionDecision": "ask"}}' # countersign/hook.py""",
}


@pytest.mark.parametrize("command", OPEN_COMMANDS)
def test_a_command_that_fails_open_is_found(settings, client, command):  # noqa: F811
    changed(settings, command=OPEN_COMMANDS[command])
    done = doctor(settings, client)
    assert done.returncode == 1
    assert len([line for line in failures(done.stdout) if "the desk stopped" in line]) >= 2


def test_a_command_that_always_refuses_is_no_gate_that_is_proved(settings, client):  # noqa: F811
    changed(settings, command="exit 2 # countersign/hook.py")
    assert any("the desk approving: refused" in line for line in failures(doctor(settings, client).stdout))


def test_settings_that_leave_a_call_open_are_found(settings, client):  # noqa: F811
    changed(settings, onFailure="continue")
    whole = json.loads(settings.read_text()) | {"disableAllHooks": True}
    whole["hooks"]["PreToolUse"][0]["matcher"] = "Bash"
    settings.write_text(json.dumps(whole))
    found = "\n".join(failures(doctor(settings, client).stdout))
    assert "onFailure" in found and "disableAllHooks" in found and "matcher Bash" in found


def test_no_hooks_are_no_gate(tmp_path, client):  # noqa: F811
    done = doctor(tmp_path / "settings.json", client)
    assert (done.returncode, "no hooks of ours" in done.stderr) == (2, True)


def test_the_real_client_is_tried_as_well_and_a_gate_that_is_open_is_found(tmp_path):
    with ModelApis().serving() as apis:
        claude = ClaudeCode(tmp_path / "home", apis)
    claude.install("--hold", "1")
    done = doctor(claude.settings, claude.program)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok    Claude Code itself, the desk stopped: the call did not run" in done.stdout
    changed(claude.settings, command="exit 1 # countersign/hook.py", onFailure="continue")
    done = doctor(claude.settings, claude.program)
    assert done.returncode == 1
    assert "FAIL  Claude Code itself, the desk stopped: THE CALL RAN" in done.stdout
