"""A wish to stop that a signal's handler may express."""

from __future__ import annotations

from queue import Empty, SimpleQueue


class StopSignal:
    """As ``threading.Event``, whose ``set`` waits for a lock: for ever in a handler, which interrupts the thread that
    waits and may hold this very lock. ``SimpleQueue.put`` is made to be called there (Python's documentation of
    ``queue``).
    """

    def __init__(self) -> None:
        self._is_set = False
        self._wakes: SimpleQueue[None] = SimpleQueue()

    def set(self) -> None:
        """Ask for a stop; from any thread, or from a signal's handler."""
        self._is_set = True
        self._wakes.put(None)

    def is_set(self) -> bool:
        """Whether a stop was asked for."""
        return self._is_set

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until a stop is asked for; whether it was."""
        if not self._is_set:
            try:
                self._wakes.get(timeout=seconds)
            except Empty:
                return self._is_set
            self._wakes.put(None)  # for the next thread that waits
        return self._is_set
