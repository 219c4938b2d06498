"""Text that others wrote: read it, normalise it, parse it, without ever running it.

Tasks, candidates and answers arrive as arbitrary bytes. Everything here is total: junk gives a described failure,
never an exception of the Python parser.
"""

from __future__ import annotations

import ast
import codecs
import io
import threading
import tokenize
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mooreeval.errors import UsageError

# Ten times the longest honest source we know of, many times over; the parser needs some 100 bytes a byte.
MAX_CODE_BYTES = 1 << 20
_PARSING = threading.Lock()


@dataclass(frozen=True)
class SyntaxProblem:
    """Why a text is not Python: one line, with the place where the parser gave up."""

    message: str
    line: int | None = None

    def __str__(self) -> str:
        return self.message if self.line is None else f"line {self.line}: {self.message}"


def normalise(text: str) -> str:
    """The text with LF line ends and without a byte order mark: what is hashed, parsed and run."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def python_tree(code: str, mode: str = "exec") -> Any:
    """`ast.parse`, one thread at a time.

    CPython 3.11 counts the depth of a tree that it builds for the whole interpreter: where another thread builds one
    meanwhile, it raises SystemError. Raises what the parser raises.
    """
    with _PARSING:
        return ast.parse(code, mode=mode)


def parse_python(code: str) -> ast.Module | SyntaxProblem:
    """The syntax tree, or why there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape sequence in somebody's string is not our news
            return python_tree(code)
    except SyntaxError as error:
        return SyntaxProblem(error.msg, error.lineno)
    except UnicodeEncodeError:
        return SyntaxProblem("it is not valid Unicode text")
    except ValueError as error:  # null bytes
        return SyntaxProblem(str(error))
    except (RecursionError, MemoryError):
        return SyntaxProblem("it is nested too deeply")


def read_regular_file(path: Path, limit: int) -> bytes:
    """At most `limit + 1` bytes of a regular file.

    Raises:
        UsageError: there is no such file, it is not a regular file, or it may not be read.
    """
    try:
        if path.is_dir():
            raise UsageError(f"{path} is a folder; name a file in it")
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is not a regular file")
        with path.open("rb") as file:
            return file.read(limit + 1)
    except FileNotFoundError:
        told = f"{path} is a link that leads nowhere" if path.is_symlink() else f"no such file: {path}"
        raise UsageError(told) from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def decode(data: bytes) -> str | None:
    """Text in the encoding that it declares (byte order mark, coding line), else UTF-8; None where it is not text.

    Single bytes that do not fit become U+FFFD: a Latin-1 comment must not hide an honest kernel.
    """
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if data.startswith(mark):
            return normalise(data.decode(encoding, "replace"))
    if b"\0" in data:
        return None
    text = data.decode(_declared_encoding(data), "replace")
    if text.count("\ufffd") * 10 > len(text):  # more than a tenth is not text at all
        return None
    return normalise(text)


def _declared_encoding(data: bytes) -> str:
    try:
        name = tokenize.detect_encoding(io.BytesIO(data[:4096]).readline)[0]
        return name if codecs.lookup(name)._is_text_encoding else "utf-8"
    except (SyntaxError, LookupError):
        return "utf-8"
