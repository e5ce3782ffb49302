"""``policy export``, ``import`` and ``diff``: rules in a file that people keep beside their code."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from sessions_app.models import PolicyVersion
from sessions_app.queries import policies as queries
from tests.policy.build import argument, rule

pytestmark = pytest.mark.django_db
SMALL = rule("allow", "Small", tool="pay", arguments=argument("/amount", "<", 10))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rules.json"
    path.write_text(json.dumps([SMALL]))
    return path


def test_what_is_imported_and_published_is_exported_as_it_was_written(workspace, file, capsys, tmp_path):
    call_command("policy", "import", str(file), "--publish", "--note", "Small ones")
    assert capsys.readouterr().out == "version 1 is in force: 1 rules\n"
    out = tmp_path / "out.json"
    call_command("policy", "export", str(out))
    assert out.read_text() == json.dumps([SMALL], indent=2) + "\n", "members in the order of the documentation"
    call_command("policy", "diff", str(out))
    assert capsys.readouterr().out == ""


def test_a_difference_is_shown_and_is_the_exit_status(workspace, file, capsys):
    with pytest.raises(SystemExit) as ended:
        call_command("policy", "diff", str(file))
    assert ended.value.code == 1
    assert '+    "name": "Small",' in capsys.readouterr().out


def test_without_a_word_a_file_takes_no_effect(workspace, file, capsys):
    call_command("policy", "import", str(file))
    assert queries.state_of(workspace.id).live is None
    call_command("policy", "import", str(file), "--shadow")
    assert queries.state_of(workspace.id).shadow.number == 1, "the same rules are the same version"
    with pytest.raises(CommandError, match="--publish needs --note"):
        call_command("policy", "import", str(file), "--publish")


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"[", "is no JSON"), (b"\xff", "is not UTF-8"), (b'[{"name": "x", "efect": "deny"}]', 'no field "efect"'),
     (b"{}", "rules are a list")],
)  # fmt: skip
def test_a_file_that_cannot_be_used_changes_nothing(workspace, file, content, said):
    file.write_bytes(content)
    for action in ("import", "diff"):
        with pytest.raises(CommandError, match=said):
            call_command("policy", action, str(file))
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("policy", "import", str(file) + ".not")
    assert not PolicyVersion.objects.exists()


def test_a_file_comes_through_a_pipe(workspace, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps([SMALL])))
    call_command("policy", "import", "-", "--publish", "--note", "Piped")
    call_command("policy", "export", "-")
    assert json.loads(capsys.readouterr().out.partition("\n")[2]) == [SMALL]
