"""Reads bodies and query strings: strict about what JSON is, tolerant of what PostgreSQL cannot hold."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, NoReturn

from django.http import HttpRequest, HttpResponse
from django.utils.datastructures import MultiValueDict
from ninja import NinjaAPI, Router
from ninja.params.models import ParamModel
from ninja.parser import Parser
from pydantic import BaseModel

from sessions_app.services.log.sanitise import storable

from .problems import Problem, invalid

MAX_DEPTH = 100
"""Levels of nesting of a body. The deepest tool call in 30,000 real ones has 14."""


class BodyParser(Parser):
    """JSON bodies and parameters for the routers; what is wrong with them is a ``Problem``."""

    def parse_body(self, request: HttpRequest) -> Any:
        """The body's value. ``request.repaired`` says whether something of it had to be replaced.

        NUL and unpaired surrogates become U+FFFD and integers over 64 bits text: transcripts hold them, the
        database does not.
        """
        if request.content_type != "application/json" and not request.content_type.endswith("+json"):
            raise Problem(415, f'send JSON as "application/json", not as "{request.content_type}"')
        packing = request.headers.get("Content-Encoding", "").strip().lower()
        if packing not in ("", "identity"):
            raise Problem(415, f'send the body as it is, not packed by "{packing}": of all addresses only spans may be')
        value = _loads(request.body)
        _check_depth(value)
        kept = storable(value)
        request.repaired = kept != value
        return kept

    def parse_querydict(self, data: MultiValueDict, list_fields: list[str], request: HttpRequest) -> dict[str, Any]:
        """Parameters, form fields or files by name; a name given twice counts the last time."""
        values = super().parse_querydict(data, list_fields, request)
        for name, value in values.items():
            if isinstance(value, str) and "\0" in value:
                raise invalid(f"/{name}", f'"{name}" must not contain NUL')
        return values


class NoOtherParameters(ParamModel, extra="forbid"):
    """What a query string has beside the parameters of an operation: none, for a filter that is misspelt would give
    all rows.
    """

    __ninja_param_source__ = "query"
    __ninja_flatten_map_reverse__: ClassVar[dict[tuple[str, ...], tuple[str, ...]]] = {}
    known: ClassVar[frozenset[str]]

    @classmethod
    def get_request_data(cls, request: HttpRequest, api: NinjaAPI, path_params: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in request.GET.items() if name not in cls.known}


def refuse_unknown_parameters(router: Router) -> None:
    """Have every operation of a router answer 422 to a query parameter that it does not take.

    One that describes parameters itself (the options of formats) reads the query itself, and says which there are.
    """
    for address in router.path_operations.values():
        for operation in address.operations:
            if "parameters" not in (operation.openapi_extra or {}):
                queries = (model for model in operation.models if model.__ninja_param_source__ == "query")
                known = frozenset(name for model in queries for name in model.__ninja_flatten_map__)
                operation.models.append(type("NoOtherParameters", (NoOtherParameters,), {"known": known}))


AS_TEXT = "this was sent as text, and has to be a file: with curl, {name}=@PATH"
"""What is said of a field of a form that holds a path, or a file's content, without being a file."""


def refuse_unknown_fields(request: HttpRequest, files: Collection[str], texts: Collection[str]) -> None:
    """422 that names the first field of a form that is none of these, or a file where a text is wanted or the reverse:
    what is not looked at there would be left out in silence.
    """
    for name in (*request.POST, *request.FILES):
        if name not in (*files, *texts):
            pointer = name.replace("~", "~0").replace("/", "~1")
            raise invalid(f"/{pointer}", f'there is no field "{name}" here; there are {", ".join((*files, *texts))}')
    if name := next((name for name in request.POST if name in files), None):
        raise invalid(f"/{name}", AS_TEXT.format(name=name))
    if name := next((name for name in request.FILES if name in texts), None):
        raise invalid(f"/{name}", "this was sent as a file, and has to be text")


def refuse_repaired(request: HttpRequest) -> None:
    """For what must be kept to the bit: a person decides on exactly what will run."""
    if getattr(request, "repaired", False):
        raise Problem(
            422, "the body holds NUL, unpaired surrogates or integers over 64 bits, which cannot be shown and kept "
            "exactly as they are; send them in another form",
        )  # fmt: skip


def reply(body: BaseModel, status: int = 200, **headers: str) -> HttpResponse:
    """A schema as the JSON answer."""
    return HttpResponse(body.model_dump_json(), status=status, content_type="application/json", headers=headers)


class Unkept(ValueError):
    """NaN, infinity: Python reads and writes them, and JSON has no words for them. A member that is there twice: one
    program reads the first, another the last (RFC 8259, 4), and a person would decide on one that is not executed.
    """


def _loads(body: bytes) -> Any:
    try:
        return json.loads(body, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_each_once)
    except RecursionError:
        raise Problem(400, f"the body is nested deeper than {MAX_DEPTH} levels") from None
    except UnicodeDecodeError as error:
        raise Problem(400, f"the body is not UTF-8: {error.reason} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise Problem(400, f"the body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except Unkept as error:
        raise Problem(400, f"the body is not JSON that can be kept: {error}") from None
    except ValueError:  # CVE-2020-10735
        raise Problem(400, "the body is not JSON that can be kept: it holds a number of over 4,300 digits") from None


def _no_constant(name: str) -> NoReturn:
    raise Unkept(f"{name} is no JSON value")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise Unkept(f"{text[:20]} is larger than any floating point number")
    return number


def _each_once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(members)
    if len(value) != len(members):
        ((twice, _),) = Counter(name for name, _ in members).most_common(1)
        raise Unkept(f"{json.dumps(twice[:100])} stands in an object more than once; send it once")
    return value


def _check_depth(value: Any) -> None:
    level, depth = [value], 0
    while level := [child for node in level for child in _children(node)]:
        depth += 1
        if depth > MAX_DEPTH:
            raise Problem(400, f"the body is nested deeper than {MAX_DEPTH} levels")


def _children(node: Any) -> Any:
    if isinstance(node, dict):
        return node.values()
    return node if isinstance(node, list) else ()
