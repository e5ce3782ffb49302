"""``watch``: a folder that is followed by a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from config.processes.system import die_with_parent
from sessions_app.models import Session
from tests.places import ROOT
from tests.services.files import transcript, vcon


@pytest.mark.django_db
def test_with_once_it_imports_what_is_there_and_ends(tmp_path, capsys):
    (tmp_path / "a.jsonl").write_bytes(transcript(4))
    (tmp_path / "notes.txt").write_text("Buy \x1b[31mmilk")
    call_command("watch", str(tmp_path), "--once", "--agent", "Night shift")
    assert capsys.readouterr().out.splitlines() == [
        f"done    {tmp_path / 'a.jsonl'}: 1 session, 4 events (claude-code)",
        f"ignored {tmp_path / 'notes.txt'}: unsupported file format; ignored",
    ]
    assert Session.objects.get().agent.name == "Night shift"


@pytest.mark.django_db
def test_with_once_a_file_that_fails_is_its_exit_status(tmp_path, capsys):
    (tmp_path / "a.vcon").write_bytes(vcon("Hello")[:-30])
    with pytest.raises(SystemExit) as ended:
        call_command("watch", str(tmp_path), "--once")
    assert ended.value.code == 1
    assert capsys.readouterr().out.startswith(f"failed  {tmp_path / 'a.vcon'}: ")


@pytest.mark.parametrize(
    "arguments, why", [(["nowhere"], "nowhere is no folder"), ([".", "--interval", "0"], "more than 0 seconds, not 0")]
)
def test_watch_refuses_invalid_arguments_with_the_reason(arguments, why):
    with pytest.raises(CommandError, match=why):
        call_command("watch", *arguments)


@pytest.mark.django_db(transaction=True)
def test_watch_follows_a_growing_file_until_interrupted(tmp_path, process_environment):
    file = tmp_path / "live.jsonl"
    whole = transcript(6)
    half = len(transcript(2)) + 100  # in the middle of the third line
    command = [sys.executable, str(ROOT / "manage.py"), "watch", str(tmp_path), "--interval", "0.1"]
    process = subprocess.Popen(
        command, env=process_environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=partial(die_with_parent, os.getpid()),
    )  # fmt: skip
    try:
        assert process.stdout.readline().startswith("following ")
        file.write_bytes(whole[:half])
        assert "1 session, 2 events, 1 warning: the last line is cut off" in process.stdout.readline()
        file.write_bytes(whole)
        assert "1 session, 4 events (claude-code)" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert (out, err, process.returncode) == ("ended\n", "", 0)
    assert Session.objects.get().event_count == 6
