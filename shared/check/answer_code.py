"""What the reader's code looks like: names it uses, arguments it ignores, data it takes from the notebook."""

import dis
import inspect
import types
from typing import Any

import numpy as np
from torch import Tensor, nn


def _functions(answer: Any) -> list[types.FunctionType]:
    """The function, or the methods of the class."""
    found = vars(answer).values() if inspect.isclass(answer) else [inspect.unwrap(answer)]
    return [function for function in found if isinstance(function, types.FunctionType)]


def codes(answer: Any) -> list[types.CodeType]:
    """The compiled code of a function, or of the methods of a class, and of what is defined within."""
    found = [function.__code__ for function in _functions(answer)]
    for code in found:
        found += [inner for inner in code.co_consts if isinstance(inner, types.CodeType)]
    return found


def _around(answer: Any) -> dict[str, Any]:
    """The notebook in which an answer stands."""
    return next((function.__globals__ for function in _functions(answer)), {})


def names(answer: Any) -> set[str]:
    """All names of functions, methods and globals that an answer uses, except itself; an alias counts by what it is."""
    around, found = _around(answer), set()
    for code in codes(answer):
        for i in dis.get_instructions(code):
            if i.argval in code.co_names and not (i.opname == "LOAD_GLOBAL" and around.get(i.argval) is answer):
                found |= {i.argval, getattr(around.get(i.argval), "__name__", i.argval)}
    return found


def unused(answer: Any) -> list[str]:
    """The arguments that a function, or a layer's `forward`, never looks at, "" for those it uses."""
    function = inspect.unwrap(getattr(answer, "forward", answer))
    if not isinstance(function, types.FunctionType):
        return []
    code, used = function.__code__, {"self"}
    for i in (i for part in codes(function) for i in dis.get_instructions(part) if "LOAD" in i.opname):
        used |= set(i.argval if isinstance(i.argval, tuple) else [i.argval])  # newer versions load two names at once
    return ["" if name in used else name for name in code.co_varnames[: code.co_argcount]]


def outside_data(answer: Any) -> list[str]:
    """The names of tensors and numbers of the notebook that an answer reads instead of its arguments."""
    around, data = _around(answer), (Tensor, np.ndarray, int, float, list, tuple, nn.Module)
    loaded = {i.argval for code in codes(answer) for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
    return sorted(name for name in loaded if isinstance(around.get(name), data))
