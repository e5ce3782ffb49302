"""What a person may set: bad values and names are refused by name, in one line."""

from __future__ import annotations

import re

import pytest

from config import env
from config.env import ConfigError

from ..places import ROOT


def test_an_empty_environment_is_enough():
    assert env.read({}).debug is False


def test_an_empty_value_counts_as_not_set():
    assert env.read({"DATABASE_URL": "", "DEBUG": " "}).database_url is None


@pytest.mark.parametrize(("value", "meaning"), [("True", True), ("1", True), ("false", False), ("0", False)])
def test_a_boolean_is_true_or_false(value, meaning):
    assert env.read({"DEBUG": value}).debug is meaning


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DEBUG", "yes"),
        ("DEBUG", "Ture"),
        ("COUNTERSIGN_MAX_UPLOAD_BYTES", "512MB"),
        ("COUNTERSIGN_MAX_UPLOAD_BYTES", "0"),
        ("COUNTERSIGN_KEEP_DELIVERIES_DAYS", "0"),
        ("COUNTERSIGN_MAX_UPLOAD_BYTES", "-1"),
        ("COUNTERSIGN_MAX_UPLOAD_BYTES", "²"),
        ("COUNTERSIGN_PUBLIC_URL", "desk.example.com"),
        ("COUNTERSIGN_PUBLIC_URL", "https://"),
        ("DATABASE_URL", "mysql://u@h/d"),
        ("DATABASE_URL", "postgresql://u@h"),
        ("DATABASE_URL", "postgresql://u@h:port/d"),
        ("DATABASE_URL", "countersign.db"),
        ("DATABASE_OWNER_URL", "mysql://u@h/d"),
        ("DATABASE_OWNER_URL", "postgresql://owner@h/d"),
        ("CELERY_BROKER_URL", "rabbitmq://h"),
        ("ANTHROPIC_BASE_URL", "api"),
        ("EMAIL_URL", "mail@example.com"),
        ("STORAGE_URL", "ftp://host/folder"),
        ("STORAGE_URL", "file://folder"),
        ("STORAGE_URL", "file:///"),
        ("STORAGE_URL", "s3://"),
        ("STORAGE_URL", "s3://key:secret@bucket"),
        ("STORAGE_URL", "s3://bucket?endpont=http://127.0.0.1"),
        ("STORAGE_URL", "s3://bucket?endpoint=127.0.0.1"),
        ("SECRET_KEY", "short"),
        ("SLACK_API_URL", "slack.com/api"),
        ("COUNTERSIGN_SIGNING_KEY", "/nowhere/signing.key"),
        ("COUNTERSIGN_DECRYPTION_KEY", "/"),
    ],
)
def test_a_bad_value_is_one_line_that_names_it(name, value):
    with pytest.raises(ConfigError) as fault:
        env.read({name: value})
    assert str(fault.value).startswith(name)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize("desk", ["postgresql://owner@h/d", "postgresql://h/d"])
def test_owner_and_desk_are_two_users_of_the_database(desk):
    with pytest.raises(ConfigError, match="name a user each, and not the same"):
        env.read({"DATABASE_OWNER_URL": "postgresql://owner@h/d", "DATABASE_URL": desk})


def test_a_refused_url_keeps_its_password_to_itself():
    with pytest.raises(ConfigError) as fault:
        env.read({"DATABASE_URL": "mysql://user:opensesame@host/name"})
    assert "opensesame" not in str(fault.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("COUNTERSIGN_DATADIR", "COUNTERSIGN_DATA_DIR"),
        ("COUNTERSIGN_MAX_UPLOAD", "COUNTERSIGN_MAX_UPLOAD_BYTES"),
        ("DATABSE_URL", "DATABASE_URL"),
        ("ALLOWED_HOST", "ALLOWED_HOSTS"),
    ],
)
def test_a_misspelt_name_is_refused_with_the_one_that_was_meant(name, meant):
    with pytest.raises(ConfigError, match=f"{name} .* did you mean {meant}"):
        env.read({name: "1"})


def test_a_name_that_is_like_no_other_is_refused_without_a_guess():
    with pytest.raises(ConfigError, match="COUNTERSIGN_FOO is not a setting .*: .env.example names all of them"):
        env.read({"COUNTERSIGN_FOO": "1"})


def test_names_of_other_programs_are_left_alone():
    environ = {"DATABASE_URL": "postgresql:///d", "DATABASE_URLS": "x", "PATH": "/bin", "SLACK_TOKEN": "t"}
    assert env.read(environ).database_url == "postgresql:///d"


def test_settings_of_the_machines_where_agents_run_stop_no_desk():
    """The lines of the gate's pages, in the shell from which the desk is started again."""
    sources = [path for end in ("src/**/*.py", "ts/*.js") for path in (ROOT / "sdk").glob(end)]
    read = {name for path in sources for name in re.findall(r"\bCOUNTERSIGN_[A-Z_]+", path.read_text())}
    assert read == set(env.OF_AGENTS)
    assert env.read(dict.fromkeys(read, "x")).public_url is None


def test_a_dotenv_file_fills_in_what_the_environment_leaves_open(tmp_path):
    (tmp_path / ".env").write_text('# ours\n\nexport DEBUG=1\nSECRET_KEY="a b=c"\nALLOWED_HOSTS=a,b\n')
    environ = {"ALLOWED_HOSTS": "mine"}
    env.load_dotenv(tmp_path / ".env", environ)
    assert environ == {"DEBUG": "1", "SECRET_KEY": "a b=c", "ALLOWED_HOSTS": "mine"}


def test_a_bad_line_of_a_dotenv_file_is_named(tmp_path):
    (tmp_path / ".env").write_text("DEBUG=1\nDEBUG 1\n")
    with pytest.raises(ConfigError, match=r"\.env line 2"):
        env.load_dotenv(tmp_path / ".env", {})


def test_the_example_file_names_every_setting_and_no_other():
    lines = (env.BASE_DIR / ".env.example").read_text().splitlines()
    named = {line[1:].split("=")[0] for line in lines if line.startswith("#") and line[1:2].isupper() and "=" in line}
    internal = {"COUNTERSIGN_DATABASE_POOL", "COUNTERSIGN_PART"}
    assert named == {*env.OURS, *env.COMMON} - internal


def test_commands_are_separated_by_semicolons_and_quoted_as_in_a_shell():
    environ = {"COUNTERSIGN_MCP_COMMANDS": "mcp-files '/srv/a; b'; /usr/bin/crm --read-only;"}
    assert env.read(environ).mcp_commands == (("mcp-files", "/srv/a; b"), ("/usr/bin/crm", "--read-only"))
    assert env.read({}).mcp_commands == ()
    with pytest.raises(ConfigError, match="COUNTERSIGN_MCP_COMMANDS is no list of commands"):
        env.read({"COUNTERSIGN_MCP_COMMANDS": "mcp 'open"})


@pytest.mark.parametrize("missing", ["SLACK_CLIENT_ID", "SLACK_CLIENT_SECRET", "SLACK_SIGNING_SECRET"])
def test_a_slack_app_is_named_whole(missing):
    app = {"SLACK_CLIENT_ID": "1.2", "SLACK_CLIENT_SECRET": "opensesame", "SLACK_SIGNING_SECRET": "opensesame"}
    assert env.read(app).slack_client_id == "1.2"
    del app[missing]
    with pytest.raises(ConfigError, match=missing) as fault:
        env.read(app)
    assert "opensesame" not in str(fault.value)


def test_the_signing_secret_of_slack_may_stand_alone():
    assert env.read({"SLACK_SIGNING_SECRET": "s"}).slack_signing_secret == "s"
