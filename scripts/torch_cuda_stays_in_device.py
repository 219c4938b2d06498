"""Keeps `torch.cuda` out of all files but those that stand before the device.

In the judge one interface speaks to the device, and in the learner the sampler alone, so that another device is another
file and no search through the project. Used as
`python scripts/torch_cuda_stays_in_device.py`; prints FILE:LINE of every use elsewhere and exits 1. It reads the syntax
tree: words in strings and comments are no use of it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SPEAK_TO_THE_DEVICE = (
    "src/mooreeval/execute/device.py",
    "src/mooreeval/execute/device_memory.py",
    "src/mooreeval/simulator/torch_device.py",
    "src/musacoder/rollout/decode.py",
    "src/musacoder/rollout/sampler.py",
)
SPECIMENS = "src/mooreeval/gallery/"  # tasks and candidates say what models say


def uses(source: str) -> list[int]:
    """Lines that reach `torch.cuda`: by attribute, by import, under another name of torch, or through getattr."""
    tree = ast.parse(source)
    names = {"torch"} | {
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "torch" and alias.asname
    }
    return sorted({node.lineno for node in _uses(tree, names)})


def _uses(tree: ast.AST, torch: set[str]) -> Iterator[ast.expr | ast.stmt]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr="cuda") if name in torch:
                yield node
            case ast.Import(names=aliases) if any(_is_cuda(alias.name) for alias in aliases):
                yield node
            case ast.ImportFrom(module="torch", names=aliases) if any(alias.name == "cuda" for alias in aliases):
                yield node
            case ast.ImportFrom(module=str(module)) if _is_cuda(module):
                yield node
            case ast.Call(
                func=ast.Name(id="getattr" | "hasattr" | "setattr"),
                args=[ast.Name(id=name), ast.Constant(value="cuda"), *_],
            ) if name in torch:
                yield node


def _is_cuda(module: str) -> bool:
    return module == "torch.cuda" or module.startswith("torch.cuda.")


def offences(root: Path) -> Iterator[str]:
    """FILE:LINE of every use of `torch.cuda` under src/ where it has no place."""
    for file in sorted((root / "src").rglob("*.py")):
        name = file.relative_to(root).as_posix()
        if name in SPEAK_TO_THE_DEVICE or (name.startswith(SPECIMENS) and name != SPECIMENS + "__init__.py"):
            continue
        for line in uses(file.read_text(encoding="utf-8")):
            yield f"{name}:{line}: torch.cuda is spoken to in {' and '.join(SPEAK_TO_THE_DEVICE)} only"


def main() -> int:
    """Print every offence; the exit code."""
    found = list(offences(ROOT))
    print("\n".join(found) if found else "torch.cuda is used where the device is, and nowhere else")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
