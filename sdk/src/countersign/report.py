"""The hook command of events that decide nothing: sends what happened in a run to the desk, or else does nothing.

Run as ``python -I -S .../countersign/report.py CLIENT EVENT || true``.
"""

import os
import sys


def main(arguments: "list[str]") -> int:
    """Exit status: 0, or 1 with what went wrong on standard error."""
    os.dup2(2, 1)  # a client reads instructions from the output of some hooks
    import json

    from countersign import runs, transcripts
    from countersign.holding import Desk

    try:
        event = json.load(sys.stdin)
        known = runs.recall(str(event["session_id"]))
        if known:  # else it has asked nothing yet, and the desk has no session of it
            place = (known["session"], event["transcript_path"], event["session_id"])
            transcripts.send(Desk(), arguments[0], *place, whole=True)
    except (OSError, ValueError, LookupError, TypeError, transcripts.NotTaken) as error:
        print(f"countersign: the transcript was not sent: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    here = os.path.abspath(__file__)  # noqa: PTH100 - as in hook.py
    sys.path.insert(0, os.path.dirname(os.path.dirname(here)))  # noqa: PTH120
    sys.exit(main(sys.argv[1:]))
