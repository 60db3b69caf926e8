"""The stop button: an interrupt of a kernel that is in a loop."""

import _thread
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_button() -> Iterator[None]:
    """Press stop while this thread is in a kernel's loop, until the block is left.

    Shells start what runs in the background with the button's signal ignored.
    """
    stopped = threading.Event()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    button = threading.Thread(target=_press_until, args=(stopped, threading.get_ident()))
    button.start()
    try:
        yield
    finally:
        stopped.set()
        button.join()
        signal.signal(signal.SIGINT, before)


def _press_until(stopped: threading.Event, thread: int) -> None:
    """Press stop while the thread is in a kernel's loop, until it worked.

    Python loses an interrupt that falls into a callback, as of a garbage collection; hypothesis and
    Numba have such callbacks.
    """
    while not stopped.wait(0.05):
        if _is_in_a_loop(sys._current_frames().get(thread)):
            _thread.interrupt_main()
            stopped.wait(5)  # check gives a kernel 15 s


def _is_in_a_loop(frame: FrameType | None) -> bool:
    while frame and not frame.f_code.co_filename.endswith("loops.py"):
        frame = frame.f_back
    return frame is not None
