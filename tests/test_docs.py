"""What the README and docs/ say is what the code does."""

from __future__ import annotations

import io
import re
import tomllib
from types import ModuleType

from tests.places import ROOT
from vcon_app import registry
from vcon_app.drafts import EventDraft, Finding, SessionDraft
from vcon_app.formats.common.head import Head
from vcon_app.formats.contract import Reader

CHAT = b"chat-log Kitchen\nkim: is the oven on?\nagent: Yes, at 180 degrees.\n(door opens)\n"


def table_under(heading: str) -> list[list[str]]:
    """The cells of the table that follows a heading of the README, without its head."""
    after = (ROOT / "README.md").read_text().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in after.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def test_the_table_of_formats_is_the_registry():
    rows = table_under("Files in and out")
    told = {name.strip("`"): (reads == "yes", writes == "yes", title) for name, reads, writes, title in rows}
    known = {
        name: (name in registry.readers(), name in registry.writers(), format.SPEC.title)
        for name, format in registry.all_formats().items()
    }
    assert told == known


def test_the_table_of_agents_has_every_page_of_the_gate():
    pages = {re.search(r"\]\((.+)\)", page).group(1) for _, page in table_under("Let an agent ask")}
    assert pages == {f"docs/gate/{path.name}" for path in (ROOT / "docs" / "gate").glob("*.md")}


def test_every_page_of_the_docs_is_named_in_the_readme():
    told = set(re.findall(r"\]\((docs/\w[\w-]*\.md)", (ROOT / "README.md").read_text()))
    assert told == {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}


def test_every_script_that_the_readme_names_is_there():
    named = set(re.findall(r"script/\w+", (ROOT / "README.md").read_text()))
    assert {"script/server", "script/test"} <= named
    assert all((ROOT / name).exists() for name in named)


def test_every_link_of_the_docs_leads_somewhere():
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links {target}"


def test_the_example_format_reads_what_it_says():
    source = re.search(r"```python\n(.+?)```", (ROOT / "docs/formats.md").read_text(), re.S).group(1)
    chat_log = ModuleType("chat_log")
    exec(source, vars(chat_log))  # noqa: S102 - the page's own example, run as its reader would
    assert isinstance(chat_log, Reader)
    known = registry.collect([*registry.readers().values(), chat_log])
    assert registry.claims(Head(CHAT), known) == ["chat-log"]
    drafts = list(chat_log.read(io.BytesIO(CHAT)))
    assert [type(draft) for draft in drafts] == [SessionDraft, EventDraft, EventDraft, Finding, EventDraft]
    kinds = [draft.kind for draft in drafts if isinstance(draft, EventDraft)]
    assert kinds == ["user_message", "agent_message", "unknown"]


def test_the_entry_point_of_the_docs_is_the_one_that_is_read():
    toml = re.search(r"```toml\n(.+?)```", (ROOT / "docs/formats.md").read_text(), re.S).group(1)
    assert list(tomllib.loads(toml)["project"]["entry-points"]) == [registry.GROUP]
