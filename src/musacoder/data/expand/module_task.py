"""Writes the task of one configuration of a module: its bundle, and a `Model` that makes it. Text only."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from musacoder.data.expand.bundle import Bundle

# A weight of all zeros or ones hides whether a candidate reads it.
NEUTRAL = """        with torch.no_grad():  # of weights that are all zeros or ones nothing would be seen
            for tensor in self.state_dict().values():
                if tensor.is_floating_point() and tensor.numel() > 0 and tensor.min() == tensor.max():
                    tensor.uniform_(0.5, 1.5)
"""


def module_task(
    bundle: Bundle,
    made_from: str,
    licence: str,
    arguments: Mapping[str, str],
    inputs: Sequence[str],
    *,
    has_neutral_weights: bool,
) -> str:
    """The code of a task. Plain arguments are `get_init_inputs`; classes and modules stand in `Model`."""
    plain = {name: text for name, text in arguments.items() if _is_plain(text)}
    given = ", ".join(f"{name}={name if name in plain else text}" for name, text in arguments.items())
    names = "".join(f", {name}" for name in plain)
    module, _, name = made_from.partition(":")
    body = [
        f'    """{name} of {module} (licence: {licence}), as it is used for inference."""',
        "",
        f"    def __init__(self{names}):",
        f"        super().__init__({given})",
        "        self.eval()",
    ]
    code = [bundle.code, "", f"class Model({bundle.name}):", *body]
    text = "\n".join(code) + "\n" + (NEUTRAL if has_neutral_weights else "")
    return (
        f"{text}\n\ndef get_inputs():\n    return [{', '.join(inputs)}]\n\n\n"
        f"def get_init_inputs():\n    return [{', '.join(plain.values())}]\n"
    )


def _is_plain(text: str) -> bool:
    """Whether it is a literal that a task's arguments may be."""
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return False
    return True
