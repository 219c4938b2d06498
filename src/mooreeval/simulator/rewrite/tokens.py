"""C++ tokens with their places, compact enough for any text whatsoever.

Only code becomes tokens; white space, comments and line continuations are the gaps between them. Nothing here can
fail: a byte that starts no token is a token of its own. Every step is linear in the length of the text, so that ten
megabytes of junk cost seconds, not hours.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from enum import IntEnum


class Kind(IntEnum):
    """What a token is."""

    IDENT = 1
    NUMBER = 2
    STRING = 3
    CHAR = 4
    PUNCT = 5


# Angle brackets stay single: whether `>>>` ends a launch or three templates is decided by who looks at it.
_LEXER = re.compile(
    r"""
    (?P<space>(?:\s++|\\\r?\n)++)
  | (?P<comment>//[^\n\\]*+(?:\\(?:\r?\n)?[^\n\\]*+)*+|/\*.*?(?:\*/|\Z))
  | (?P<raw>(?:u8|[uUL])?R"(?P<fence>[^()\\\s"]{0,16})\()
  | (?P<string>(?:u8|[uUL])?"[^"\\\n]*+(?:\\(?:\r\n|.|\Z)[^"\\\n]*+)*+"?)
  | (?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n]){1,40}+')
  | (?P<number>\.?[0-9](?:[eEpP][+-]|'(?=[0-9a-zA-Z_])|[0-9a-zA-Z_.])*+)
  | (?P<ident>[^\W\d][\w$]*+|\$[\w$]*+)
  | (?P<punct>::|->|%:|\#\#|<=|>=|==|!=|&&|\|\||\.\.\.|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS = {"ident": Kind.IDENT, "number": Kind.NUMBER, "string": Kind.STRING, "char": Kind.CHAR, "punct": Kind.PUNCT}
_CLOSER = {"(": ")", "[": "]", "{": "}"}
_BRANCHES = {"else", "elif", "elifdef", "elifndef"}


class Tokens:
    """The tokens of one source text.

    `match[i]` is the partner of a bracket, -1 where there is none; `scope[i]` is the innermost bracket open at token
    i, -1 at file scope; `directive[i]` is the number of the preprocessor line that holds token i, 0 outside of any.
    Brackets inside a preprocessor line pair among themselves, and each branch of a conditional starts from the
    brackets open at its `#if`, so neither a lone brace in a macro nor two alternative headers of one block confuse
    what follows.
    """

    def __init__(self, text: str):
        self.text = text
        self.kinds = bytearray()
        self.starts = array("q")
        self.ends = array("q")
        self.directive = array("l")
        self.directive_first: list[int] = [-1]  # directive number -> its `#` token
        self._line_starts: array | None = None
        self._lex()
        self.match = array("q", bytes(8 * len(self)))
        self.scope = array("q", bytes(8 * len(self)))
        self._pair_brackets()

    def __len__(self) -> int:
        return len(self.kinds)

    def __getitem__(self, index: int) -> str:
        """The text of a token; the empty string outside the stream, so that callers may peek."""
        if 0 <= index < len(self.kinds):
            return self.text[self.starts[index] : self.ends[index]]
        return ""

    def is_ident(self, index: int) -> bool:
        return 0 <= index < len(self.kinds) and self.kinds[index] == Kind.IDENT

    def adjacent(self, index: int, count: int, char: str) -> bool:
        """Are tokens index .. index+count-1 all `char` with nothing between them?"""
        if index < 0 or index + count > len(self.kinds):
            return False
        start = self.starts[index]
        return self.starts[index + count - 1] == start + count - 1 and self.text.startswith(char * count, start)

    def line(self, index: int) -> int:
        """1-based line of a token."""
        if self._line_starts is None:
            self._line_starts = array("q", [0])
            self._line_starts.extend(m.end() for m in re.finditer("\n", self.text))
        return bisect_right(self._line_starts, self.starts[index])

    def directive_name(self, index: int) -> str:
        """ "define", "if", "include" ... for a token on a preprocessor line, else ""."""
        number = self.directive[index]
        return self[self.directive_first[number] + 1] if number else ""

    def same_line_of_code(self, left: int, right: int) -> bool:
        """Do both tokens belong to the same preprocessor line, or both to none?"""
        return self.directive[left] == self.directive[right]

    def _lex(self) -> None:
        text, position, number, at_line_start, in_directive = self.text, 0, 0, True, False
        match_token = _LEXER.match
        while position < len(text):
            token = match_token(text, position)
            assert token is not None  # the last alternative takes any character
            group, start, end = token.lastgroup, position, token.end()
            if group == "fence":  # lastgroup of a raw string is its innermost group
                group = "raw"
            if group == "space" or group == "comment":
                if group == "space" and _ends_line(text, start, end):
                    at_line_start, in_directive = True, False
                position = end
                continue
            if group == "raw":
                end = _raw_end(text, token)
                group = "string"
            if at_line_start and text[start:end] in ("#", "%:"):
                number, in_directive = number + 1, True
                self.directive_first.append(len(self.kinds))
            at_line_start = False
            self.kinds.append(_KINDS[group or "punct"])
            self.starts.append(start)
            self.ends.append(end)
            self.directive.append(number if in_directive else 0)
            position = end

    def _pair_brackets(self) -> None:
        # Open brackets form a linked list (index, parent), so that remembering it at an `#if` costs nothing.
        outer = inner = None
        conditionals: list = []
        for i in range(len(self.kinds)):
            self.match[i] = -1
            number = self.directive[i]
            if number:
                if self.directive_first[number] == i:
                    inner = None
                    outer = _branch(self[i + 1] if i + 1 < len(self) else "", outer, conditionals)
                inner = self._pair(i, inner)
            else:
                outer = self._pair(i, outer)

    def _pair(self, i: int, opened):
        """Enter token i with `opened` brackets open; return those open after it."""
        self.scope[i] = opened[0] if opened else -1
        if self.kinds[i] != Kind.PUNCT:
            return opened
        char = self.text[self.starts[i]]
        if char in _CLOSER:
            return (i, opened)
        if char in ")]}" and opened:
            partner = self._partner(opened, char)
            if partner:
                self.match[i], self.match[partner[0]] = partner[0], i
                self.scope[i] = partner[1][0] if partner[1] else -1
                return partner[1]
        return opened

    def _partner(self, opened, char: str):
        """The open bracket that `char` closes. A brace also closes what was left open inside it, within reason."""
        for _ in range(64 if char == "}" else 1):
            if not opened or _CLOSER[self.text[self.starts[opened[0]]]] == char:
                return opened
            opened = opened[1]
        return None


def _ends_line(text: str, start: int, end: int) -> bool:
    """Does this white space hold a line end that no backslash takes back?"""
    return "\n" in text[start:end].replace("\\\r\n", "").replace("\\\n", "")


def _raw_end(text: str, token: re.Match) -> int:
    closing = f'){token["fence"]}"'
    end = text.find(closing, token.end())
    return len(text) if end < 0 else end + len(closing)


def _branch(name: str, opened, conditionals: list):
    """Brackets open after a preprocessor line called `name`."""
    if name in ("if", "ifdef", "ifndef"):
        conditionals.append(opened)
    elif name in _BRANCHES and conditionals:
        return conditionals[-1]
    elif name == "endif" and conditionals:
        conditionals.pop()
    return opened


def join_lines(text: str) -> str:
    """The text with continued lines joined, as the preprocessor sees it: a word may be cut in two by a backslash.

    Line ends move behind the joined line, so that what follows keeps its line number.
    """
    if "\\\n" not in text and "\\\r\n" not in text:
        return text
    return re.sub(r"^(?:[^\n]*+(?<=\\)\n|[^\n]*\\\r\n)+[^\n]*", _joined, text, flags=re.MULTILINE)


def _joined(lines: re.Match[str]) -> str:
    return re.sub(r"\\\r?\n", "", lines[0]) + "\n" * lines[0].count("\n")


class Edits:
    """Replacements in a text, collected in any order, that never change its number of lines."""

    def __init__(self, text: str):
        self.text = text
        self._edits: list[tuple[int, int, int, str]] = []

    def replace(self, start: int, end: int, new: str) -> None:
        """Put `new` (no line ends) for text[start:end]; line ends and continuations in between stay."""
        kept = "".join(re.findall(r"\\\r?\n|\n", self.text[start:end]))
        self._edits.append((start, end, len(self._edits), new + kept))

    def insert(self, at: int, new: str) -> None:
        self._edits.append((at, at, len(self._edits), new))

    def apply(self) -> str:
        parts, position = [], 0
        for start, end, _, new in sorted(self._edits):
            if start < position:  # inside text that is already replaced
                continue
            parts.append(self.text[position:start])
            parts.append(new)
            position = end
        parts.append(self.text[position:])
        return "".join(parts)
