"""Tool entries of an agent's definition, for the ``local`` runtime: see ``docs/agents.md``."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from sessions_app.runtimes.tool_rules import MOST_PRICE

SERVER = r"^[A-Za-z0-9_-]{1,40}$"
NAME = r"^[A-Za-z0-9_-]{1,64}$"
Json = dict[str, Any]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")
    price: Decimal | None = Field(None, gt=0, le=MOST_PRICE)
    """US dollars for a call that succeeds, from the data wallet."""


class McpEntry(_Entry):
    """A server, reached by ``url`` or started as ``command``; all of its tools, or those of ``tools``."""

    type: Literal["mcp"]
    server: str = Field(pattern=SERVER, validation_alias=AliasChoices("server", "name"))
    url: str | None = Field(None, pattern=r"^https?://[^/?#\s@]+([/?]\S*)?$")
    command: list[str] | None = Field(None, min_length=1)
    headers_secret: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")], str] = {}
    """Name of a header -> name of the secret that is its value."""
    tools: list[str] | None = None
    timeout: float = Field(60, gt=0, le=900)
    """Seconds for one call."""

    @model_validator(mode="after")
    def _one_place(self) -> McpEntry:
        if (self.url is None) == (self.command is None):
            raise ValueError("an MCP server has a url or a command")
        if self.command and self.headers_secret:
            raise ValueError("a command has no headers; give it its secrets in a script of the operator's")
        return self


class PythonEntry(_Entry):
    """A function that an installed package offers under this name."""

    type: Literal["python"]
    name: str = Field(pattern=NAME)
    timeout: float = Field(60, gt=0, le=900)


class CustomEntry(_Entry):
    """A tool that a person answers."""

    type: Literal["custom"]
    name: str = Field(pattern=NAME)
    description: str = ""
    input_schema: Json = {"type": "object"}


Entry = McpEntry | PythonEntry | CustomEntry
_ENTRY: TypeAdapter[Entry] = TypeAdapter(Annotated[Entry, Field(discriminator="type")])


def read(tools: Any) -> tuple[list[Entry], list[str]]:
    """The entries of ``agent.tools``, and a sentence for each that is none."""
    entries: list[Entry] = []
    problems: list[str] = []
    if not isinstance(tools, list):
        return [], ["the tools of an agent are a list"]
    for number, entry in enumerate(tools, start=1):
        try:
            entries.append(_ENTRY.validate_python(entry))
        except ValidationError as error:
            problems.append(f"tool {number} of this agent cannot be used here: {_why(error)}")
    return entries, problems


def _why(error: ValidationError) -> str:
    """Sentence on what is wrong, without the values: somebody may have written a key where a secret's name belongs."""
    return "; ".join(f"{'.'.join(map(str, e['loc'])) or 'it'}: {e['msg']}" for e in error.errors(include_input=False))
