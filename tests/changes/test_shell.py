"""What a shell command evidently writes is named, and nothing that it only mentions."""

from __future__ import annotations

import pytest

from sessions_app.changes.calls import Call, changes_of

CASES = {
    "cat > a.txt <<'EOF'\nrm -rf x > y\nEOF\necho hi >> b.txt": ["a.txt >", "b.txt >>"],
    "sed -i 's/a/b/' x.py y.py": ["x.py sed -i", "y.py sed -i"],
    "sed -i.bak -e 's/a/b/' x.py": ["x.py sed -i"],
    "sed 's/a/b/' x.py": [],
    "perl -pi -e 's/a/b/' z.c": ["z.c perl -i"],
    "echo x 2>/dev/null >&2 | tee -a log.txt": ["log.txt tee"],
    "cd sub && mv a b; git mv c d/": ["sub/a mv away", "sub/b mv", "sub/c git mv away", "sub/d/c git mv"],
    "cp -r a b dir/": ["dir/a cp", "dir/b cp"],
    'rm -rf build "a b.txt"': ["build rm", "a b.txt rm"],
    "make 2>&1 > out.log": ["out.log >"],
    'bash -lc "echo 1 > deep.txt"': ["deep.txt >"],
    "mkdir -p x/y && touch x/y/z": ["x/y/ mkdir", "x/y/z touch"],
    "FOO=1 sudo tee /etc/x < y": ["/etc/x tee"],
    "if [ -f a ]; then echo 1 > b; fi": ["b >"],
    "echo a &> all.log": ["all.log >"],
    "curl -L https://example.org/y -o t.zip": ["t.zip curl"],
    "echo $X > $Y; rm *.pyc; cd $HOME && echo 1 > f": [],
    'python3 -c "print(1>2)"': [],
    "git log --format='%h > %s' | head": [],
    "awk '$1 > 3' f; [[ a > b ]]": [],
    "# echo > x": [],
    "ls": [],
}


@pytest.mark.parametrize("command", CASES)
def test_a_command_names_what_it_writes(command: str):
    found = changes_of(Call("Bash", {"command": command}))
    assert [f"{change.path} {change.how}" for change in found] == CASES[command]
    assert {change.kind for change in found} <= {"shell"} and not any(change.is_known for change in found)


def test_what_moves_says_from_where():
    gone, moved = changes_of(Call("Bash", {"command": "git mv old.py new.py"}))
    assert (gone.path, gone.was, moved.path, moved.was) == ("old.py", "", "new.py", "old.py")


def test_a_command_runs_in_the_directory_that_the_call_names():
    (written,) = changes_of(Call("exec_command", {"cmd": "echo > x", "workdir": "/w/sub"}, cwd="/w"))
    assert written.path == "sub/x"


@pytest.mark.parametrize("arguments", [{"command": ["touch", "a b"]}, {"script": "touch 'a b'"}, "touch 'a b'"])
def test_a_command_may_be_a_list_or_a_text(arguments):
    (written,) = changes_of(Call("run_shell_command", arguments))
    assert written.path == "a b"
