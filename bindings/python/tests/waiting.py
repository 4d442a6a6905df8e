"""Waits for events, never for a time."""

import time

#: Seconds. Nothing that a test waits for takes as long, also on a slow machine. What does, hangs.
LIMIT = 600


def wait_for(question):
    """Ask again and again until the answer is true, and return it."""
    end = time.monotonic() + LIMIT
    while not (answer := question()):
        assert time.monotonic() < end, "waited in vain"
        # What is asked (files, processes, clocks) reports nothing by itself.
        time.sleep(0.01)
    return answer
