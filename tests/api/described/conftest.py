"""The description of the API as schemathesis reads it."""

from __future__ import annotations

from copy import deepcopy

import pytest
import schemathesis
from schemathesis.checks import load_all_checks
from schemathesis.config import SchemathesisConfig
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.python._constants.orchestrator import make_constants_value_source

from config.api import api as described

EXAMPLES = 12


@pytest.fixture(scope="module")
def schema() -> schemathesis.BaseSchema:
    """The description but for who may call: every call here is an admin's, and tests/api/rights is about the others."""
    load_all_checks()
    document = deepcopy(dict(described.get_openapi_schema()))
    for methods in document["paths"].values():
        for operation in methods.values():
            operation.pop("security", None)
    config = {"generation": {"deterministic": True, "max-examples": EXAMPLES}}
    return schemathesis.openapi.from_dict(document, config=SchemathesisConfig.from_dict(config))


@pytest.fixture(scope="module")
def values(schema) -> FeedbackSources:
    return FeedbackSources(constants_value_source=make_constants_value_source(schema))
