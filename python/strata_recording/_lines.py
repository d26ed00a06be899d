# SPDX-License-Identifier: Apache-2.0
"""Which line of the user's code is at work, or failed."""
from __future__ import annotations

import functools
import os
import re
import sys
from typing import Any

PACKAGES = ("torch", "strata", "strata_recording", "sitecustomize", "importlib", "contextlib", "runpy", "copy", "numpy")


def is_of_user(frame: Any) -> bool:
    """Whether the code is the user's, or that of a library of models."""
    package = frame.f_globals.get("__name__", "").split(".")[0]
    return package not in PACKAGES and not frame.f_code.co_filename.startswith("<")


@functools.lru_cache(maxsize=None)
def short(file: str) -> str:
    """As people call it: from the folder they work in, or from that of packages."""
    here = os.getcwd() + os.sep
    return file[len(here):] if file.startswith(here) else re.sub(r"^.*/(?:site|dist)-packages/", "", file)


def user_line() -> str:
    """The line of the user's code that is at work."""
    frame = sys._getframe(1)
    while frame is not None:
        if is_of_user(frame):
            return f"{short(frame.f_code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def line_of(error: BaseException) -> str:
    """The line of the user's code in which an exception was raised."""
    trace, found = error.__traceback__, ""
    while trace is not None:
        if is_of_user(trace.tb_frame):
            found = f"{short(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found
