"""agnt5 session exports (``session.export(format="jsonl")``): one message a line.

The documentation of the ``Session`` class names the keys of a line: timestamp, role, message, metadata, tool_calls.
No released version of the SDK has the class, so keys beside them are read where their meaning is plain (ids, agent,
model, usage, results of calls) and kept otherwise. A line states no session: ``metadata.session_id`` does where a
writer put it there, else the first line is the session's identity.

Written: these five keys first on every line (A13), a message with its calls on one; what they do not say stands behind
them under ``countersign``, so that reading it back gives the same events under the same keys.
"""

from .read import NAME, SPEC, detect, read
from .write import write

__all__ = ["NAME", "SPEC", "detect", "read", "write"]
