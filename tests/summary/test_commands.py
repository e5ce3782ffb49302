"""Commands: which of them run tests, and which are the same command again."""

from __future__ import annotations

import pytest

from sessions_app.summary.commands import is_piped, meant, runner


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest -q", "pytest"),
        ("cd /srv && FOO=1 uv run pytest tests/a.py | tail -3", "pytest"),
        ("python -m pytest", "pytest"),
        (".venv/bin/python3.11 -m unittest discover", "unittest"),
        ("timeout 60 npx jest --ci", "jest"),
        ("npm test", "npm test"),
        ("npm run test:unit -- --watch=false", "npm test"),
        ("yarn vitest run", "vitest"),
        ("pnpm t", ""),
        ("pnpm test", "pnpm test"),
        ("cargo test --all", "cargo test"),
        ("go test ./...", "go test"),
        ("make -j4 test", "make test"),
        ("make check", "make test"),
        ("mvn -q verify", "mvn test"),
        ("./gradlew :core:test", "gradlew test"),
        ("bundle exec rspec spec/a_spec.rb", "rspec"),
        ("vendor/bin/phpunit", "phpunit"),
        ("dotnet test", "dotnet test"),
        ("python manage.py test app", "manage.py test"),
        ("bash -c 'cd x && go test ./a'", "go test"),
        ("cat tests/test_a.py", ""),
        ("grep -rn pytest .", ""),
        ("git commit -m 'make test faster'", ""),
        ("echo test", ""),
        ("", ""),
    ],
)
def test_runners_of_tests_are_known(command, expected):
    assert runner(command) == expected


def test_a_command_is_the_same_whatever_its_options_and_pipes_are():
    first = meant("cd /srv/app && FOO=1 make -j8 build 2>&1 | tail -20")
    assert first == meant("make build") == "make build"
    assert meant("git push origin main") != meant("git push origin other")


def test_the_exit_code_of_a_pipe_is_another_ones():
    assert is_piped("pytest | tail") and is_piped("pytest; echo done")
    assert not is_piped("cd a && pytest;")


def test_hostile_commands_are_read_in_no_time():
    for command in ("test/" * 50_000, "a;" * 100_000 + "test", "test " + "'" * 100_000, "test=1 " * 50_000):
        assert runner(command) == ""
        assert len(meant(command).encode()) <= 120
