"""Errors of the OTLP endpoints as an exporter reads them: with the library of protobuf, by the published messages."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpResponse
from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory

BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest"
TEXT, INTEGER, MESSAGE = (getattr(descriptor_pb2.FieldDescriptorProto, f"TYPE_{name}") for name in
                          ("STRING", "INT32", "MESSAGE"))  # fmt: skip
MESSAGES = {
    "Status": [("code", 1, INTEGER, ""), ("message", 2, TEXT, ""), ("details", 3, MESSAGE, "google.protobuf.Any")],
    "Violation": [("field", 1, TEXT, ""), ("description", 2, TEXT, "")],
    "BadRequest": [("field_violations", 1, MESSAGE, "told.Violation")],
}
"""google/rpc/status.proto and error_details.proto: name, number, type of each member that is used."""


def _classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="told.proto", package="told", syntax="proto3")
    file.dependency.append(any_pb2.DESCRIPTOR.name)
    for name, members in MESSAGES.items():
        message = file.message_type.add(name=name)
        for member, number, kind, of in members:
            field = message.field.add(name=member, number=number, type=kind)
            field.label = field.LABEL_REPEATED if kind == MESSAGE else field.LABEL_OPTIONAL
            if of:
                field.type_name = f".{of}"
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"told.{name}")) for name in MESSAGES}


CLASSES = _classes()


def told(answer: HttpResponse, status: int, kind: str) -> tuple[str, list[tuple[str, str]]]:
    """The message of an error, and the values that it says are wrong; it is in the encoding of the request."""
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, kind), answer.content
    assert int(answer.headers["Content-Length"]) == len(answer.content)
    if kind == "application/json":
        value = json.loads(answer.content)
        assert value.keys() <= {"message", "details"}
        assert all(detail["@type"] == BAD_REQUEST for detail in value.get("details", []))
        wrong = [one for detail in value.get("details", []) for one in detail["fieldViolations"]]
        return value["message"], [(one["field"], one["description"]) for one in wrong]
    found = CLASSES["Status"].FromString(answer.content)
    assert all(detail.type_url == BAD_REQUEST for detail in found.details)
    details = [CLASSES["BadRequest"].FromString(detail.value) for detail in found.details]
    return found.message, [(one.field, one.description) for detail in details for one in detail.field_violations]
