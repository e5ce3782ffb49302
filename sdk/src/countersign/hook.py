"""The hook command: prints one valid decision, or exits with status 2. There is no third outcome.

Coding agents let a call run when its hook fails in most other ways (docs/gate/claude-code.md has the table), so this
file stands before everything else of the package and trusts none of it: another version may be half installed.

Agents are told to run it as

    python -I -S .../countersign/hook.py CLIENT EVENT; [ $? -eq 86 ] || { echo refused >&2; exit 2; }

86 is a status that nothing but the last line of ``main`` makes: an interpreter that is gone, a file that an upgrade is
just writing, or a signal end in 2. ``-I -S`` keeps start files of the machine from printing into the decision.
"""

import os
import sys

DECIDED = 86
REFUSED = 2


def main(arguments: "list[str]", decided: int = DECIDED) -> None:
    """Answer the call on standard input; does not return."""
    try:
        answer_to = os.dup(1)
        os.dup2(2, 1)  # whatever is printed by mistake must not mix with the decision
        try:  # without the enumerations of ``signal``, which take 5 ms
            import _signal as signal  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            import signal  # type: ignore[no-redef, unused-ignore]
        signal.signal(signal.SIGTERM, lambda *_: os._exit(REFUSED))
        from countersign import hooked

        said = hooked.answer(arguments, sys.stdin.buffer.read())
        if not said.startswith(b'{"hookSpecificOutput":{') or not said.endswith(b"}}\n"):
            raise ValueError("what would be said is no decision")  # of a module that is cut in the middle
        while said:
            said = said[os.write(answer_to, said) :]
        os.close(answer_to)
    except BaseException as fault:  # noqa: B036 - a KeyboardInterrupt, too, must not let a call run
        _refuse(fault)
    os._exit(decided)


def _refuse(fault: BaseException) -> None:
    try:
        os.write(2, f"countersign: this call is refused: {type(fault).__name__}: {fault}\n".encode(errors="replace"))
    finally:
        os._exit(REFUSED)


if __name__ == "__main__":
    try:
        here = os.path.abspath(__file__)  # noqa: PTH100 - pathlib costs a call 5 ms
        sys.path.insert(0, os.path.dirname(os.path.dirname(here)))  # noqa: PTH120
        main(sys.argv[1:])
    finally:
        os._exit(REFUSED)
