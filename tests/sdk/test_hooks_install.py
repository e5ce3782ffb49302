"""``countersign hooks install claude-code`` shows the change first, changes nothing else, refuses what is no gate."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import SOURCE

THEIRS = {
    "model": "opus",
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "lint"}]}],
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        "Notification": [],
    },
    "permissions": {"allow": ["Read"]},
}
PATHS = ("/settings.json", "/deep/er/settings.json")


@pytest.fixture
def client(tmp_path) -> Path:
    """A client that says a version and does nothing else."""
    return _client(tmp_path, "2.1.330 (Claude Code)")


def _client(place: Path, says: str, status: int = 0) -> Path:
    program = place / "claude"
    program.write_text(f"#!/bin/sh\necho '{says}'\nexit {status}\n")
    program.chmod(0o755)
    return program


def countersign(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from countersign.cli import main; main()", *words]
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONPATH": str(SOURCE)} | more
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60
    )


def install(settings: Path, client: Path, *more: str, **environment: str) -> subprocess.CompletedProcess[str]:
    place = ("--settings", str(settings), "--client", str(client))
    return countersign("hooks", "install", "claude-code", *place, *more, **environment)


def uninstall(settings: Path) -> subprocess.CompletedProcess[str]:
    return countersign("hooks", "uninstall", "claude-code", "--settings", str(settings), "--yes")


def ours(settings: Path, event: str) -> list[dict]:
    groups = json.loads(settings.read_text())["hooks"][event]
    return [hook for group in groups for hook in group["hooks"] if "hook.py" in hook["command"]]


@pytest.mark.parametrize("path", PATHS)
def test_settings_that_are_not_there_are_made(tmp_path, client, path):
    settings = Path(f"{tmp_path}{path}")
    done = install(settings, client, "--yes")
    assert done.returncode == 0, done.stderr
    assert "+++" in done.stdout
    assert settings.stat().st_mode & 0o777 == 0o600
    for event in ("PreToolUse", "PermissionRequest"):
        (hook,) = ours(settings, event)
        assert hook["type"] == "command"
        assert hook["onFailure"] == "block"
        assert hook["command"].endswith("exit 2; }")
        assert hook["timeout"] > float(hook["command"].split("--hold ")[1].split(";")[0]) + 15
        assert json.loads(settings.read_text())["hooks"][event][0]["matcher"] == "*"


def test_the_change_is_shown_and_nothing_changes_without_a_yes(tmp_path, client):
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps(THEIRS))
    done = install(settings, client)
    assert done.returncode == 2
    assert '+            "onFailure": "block"' in done.stdout
    assert "--yes" in done.stderr
    assert json.loads(settings.read_text()) == THEIRS


def test_installing_again_changes_nothing_and_uninstalling_leaves_what_others_wrote(tmp_path, client):
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps(THEIRS, indent=4))
    assert install(settings, client, "--yes").returncode == 0
    first = settings.read_text()
    assert "\n    " in first and json.loads(first)["permissions"] == THEIRS["permissions"]
    again = install(settings, client)
    assert (again.returncode, settings.read_text()) == (0, first)
    assert "nothing to change" in again.stdout
    assert uninstall(settings).returncode == 0
    assert json.loads(settings.read_text()) == THEIRS
    assert "nothing to change" in uninstall(settings).stdout


def test_another_hold_replaces_the_hooks_that_are_there(tmp_path, client):
    settings = tmp_path / "settings.json"
    install(settings, client, "--yes")
    install(settings, client, "--yes", "--hold", "120", "--defer")
    (hook,) = ours(settings, "PreToolUse")
    assert "--hold 120 --defer" in hook["command"]


def test_another_hook_that_may_change_a_call_is_named(tmp_path, client):
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps(THEIRS | {"disableAllHooks": True}))
    said = install(settings, client, "--yes", COUNTERSIGN_URL="http://desk", COUNTERSIGN_API_KEY="cs_1").stdout
    assert "lint" in said and "disableAllHooks" in said and "is not set" not in said


def test_a_missing_address_or_key_is_named(tmp_path, client):
    said = install(tmp_path / "settings.json", client, "--yes").stdout
    assert "COUNTERSIGN_URL is not set" in said and "COUNTERSIGN_API_KEY is not set" in said


@pytest.mark.parametrize("says", ["2.1.294 (Claude Code)", "1.0.128 (Claude Code)", "2.0.999 (Claude Code)"])
def test_a_version_that_fails_open_is_refused_with_the_reason(tmp_path, says):
    settings = tmp_path / "settings.json"
    done = install(settings, _client(tmp_path, says), "--yes")
    assert done.returncode == 2
    assert says.split()[0] in done.stderr and "2.1.295" in done.stderr and "let the call run" in done.stderr
    assert not settings.exists()


@pytest.mark.parametrize("says", ["2.1.295 (Claude Code)", "2.10.0 (Claude Code)", "3.0.0"])
def test_later_versions_are_taken(tmp_path, says):
    assert install(tmp_path / "settings.json", _client(tmp_path, says), "--yes").returncode == 0


@pytest.mark.parametrize("client", ["/no/such/claude", "broken", "silent"])
def test_a_client_that_does_not_say_its_version_is_refused(tmp_path, client):
    if client == "broken":
        client = _client(tmp_path, "2.1.330", status=1)
    elif client == "silent":
        client = _client(tmp_path, "hello")
    assert install(tmp_path / "settings.json", client, "--yes").returncode == 2
    assert not (tmp_path / "settings.json").exists()


NOT_UNDERSTOOD = (
    "{", '{"hooks": }', "[]", '"hooks"', '{"hooks": []}', '{"hooks": {"PreToolUse": {}}}', "[" * 20_000,
    '{"hooks": {"Stop": [{"matcher": "*"}]}}', '{"hooks": {"Stop": [{"hooks": ["x"]}]}}', '// mine\n{"model": "opus"}',
)  # fmt: skip


@pytest.mark.parametrize("text", NOT_UNDERSTOOD, ids=lambda text: text[:40])
def test_settings_that_are_not_understood_are_left_as_they_are(tmp_path, client, text):
    settings = tmp_path / "settings.json"
    settings.write_text(text)
    for done in (install(settings, client, "--yes"), uninstall(settings)):
        assert done.returncode == 2
        assert "was not touched" in done.stderr and "Traceback" not in done.stderr
    assert settings.read_text() == text


def test_a_link_to_the_settings_stays_a_link(tmp_path, client):
    real, link = tmp_path / "dotfiles.json", tmp_path / "settings.json"
    real.write_text("{}")
    link.symlink_to(real)
    assert install(link, client, "--yes").returncode == 0
    assert link.is_symlink() and "hooks" in json.loads(real.read_text())


@pytest.mark.parametrize("hold", ["0", "-5", "99999999"])
def test_a_hold_that_makes_no_sense_is_refused(tmp_path, client, hold):
    assert install(tmp_path / "settings.json", client, "--yes", "--hold", hold).returncode == 2


def test_a_project_has_settings_of_its_own(tmp_path, client):
    done = subprocess.run(
        [sys.executable, "-c", "from countersign.cli import main; main()", "hooks", "install", "claude-code",
         "--project", "--yes", "--client", str(client)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE)}, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert ours(tmp_path / ".claude" / "settings.json", "PreToolUse")
