"""C++ as the compiler will see it: dropped branches gone, the candidate's own macros expanded, every line where it was.

Names may be pasted together by `##` or put together by definitions on the command line; what a call is called is known
only afterwards. Macros of headers stay as they are: they are words of the toolkit and of PyTorch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mooreeval.simulator.rewrite.conditions import dead_tokens
from mooreeval.simulator.rewrite.tokens import Kind, Tokens

MOST_TOKENS = 600_000  # of one candidate, with what its macros become
MOST_DEPTH = 64
_NAME = re.compile(r"[A-Za-z_]\w*")
# Of several characters, and several tokens to the lexer: taken apart they are other operators, and no C++ any more.
_OPERATORS = frozenset("++ -- += -= *= /= %= ^= |= &= << >> <<= >>= <<< >>> .* ->*".split())


class TooMuchText(Exception):
    """Macros make more text than anyone reads."""


@dataclass(frozen=True)
class Macro:
    """One definition; `parameters` is None for one that takes none."""

    parameters: tuple[str, ...] | None
    body: tuple[str, ...]
    variadic: bool = False


class Preprocessor:
    """Macros of one translation unit, from text to text."""

    def __init__(self, macros: dict[str, Macro] | None = None) -> None:
        self.macros = dict(macros or {})
        self.made = 0

    def define(self, line: str) -> None:
        """`#define NAME value` or `#undef NAME`, as flags of the command line come to."""
        tokens = Tokens(line)
        if len(tokens) > 2:
            self._directive(tokens, 0)

    def expand(self, tokens: Tokens) -> str:
        """The text without directives, comments and dropped branches, macros expanded; as many lines as before."""
        dead = dead_tokens(tokens)
        out: list[str] = []
        line, at, count = 1, 0, len(tokens)
        while at < count:
            number = tokens.directive[at]
            if number:
                if tokens.directive_first[number] == at and not dead[at]:
                    self._directive(tokens, at)
                while at < count and tokens.directive[at] == number:
                    at += 1
                continue
            if dead[at]:
                at += 1
                continue
            own = tokens.line(at)
            if own > line:
                out.append("\n" * (own - line))
                line = own
            words, at = self._token(tokens, at)
            piece = " ".join(words)
            out.append(piece + " ")
            line += piece.count("\n")
            self._count(len(words))
        return "".join(out)

    def _count(self, number: int) -> None:
        self.made += number
        if self.made > MOST_TOKENS:
            raise TooMuchText

    def _token(self, tokens: Tokens, at: int) -> tuple[list[str], int]:
        """What one token becomes, with the index behind it and its arguments."""
        macro = self.macros.get(tokens[at]) if tokens.kinds[at] == Kind.IDENT else None
        if macro is None:
            behind = _behind_operator(tokens, at)
            return _words(tokens, range(at, behind)), behind
        if macro.parameters is None:
            return self._replaced(tokens[at], macro, [], ()), at + 1
        if tokens[at + 1] != "(":
            return [tokens[at]], at + 1
        close = tokens.match[at + 1]
        if close < 0:
            return [tokens[at]], at + 1
        words = _words(tokens, [i for i in range(at + 2, close) if not tokens.directive[i]])
        return self._replaced(tokens[at], macro, _arguments(words), ()), close + 1

    def _replaced(self, name: str, macro: Macro, arguments: list[list[str]], busy: tuple[str, ...]) -> list[str]:
        if len(busy) > MOST_DEPTH:
            raise TooMuchText
        return self._rescan(self._filled(macro, arguments, busy), (*busy, name))

    def _filled(self, macro: Macro, arguments: list[list[str]], busy: tuple[str, ...]) -> list[str]:
        """The body with arguments in the places of its parameters, `#` and `##` carried out."""
        given = _named(macro, arguments)
        out: list[str] = []
        body = macro.body
        paste = False
        for k, word in enumerate(body):
            if word == "##":
                paste = True
                continue
            if word == "#" and k + 1 < len(body) and body[k + 1] in given:
                continue
            if k and body[k - 1] == "#" and word in given:
                new = ['"' + " ".join(given[word]).replace("\\", "").replace('"', "") + '"']
            elif word in given:
                beside = paste or (k + 1 < len(body) and body[k + 1] == "##")
                new = list(given[word]) if beside else self._rescan(given[word], busy)
            else:
                new = [word]
            if paste and out and new:
                out[-1] += new[0]
                new = new[1:]
            paste = False
            out += new
            self._count(len(new))
        return out

    def _rescan(self, words: list[str], busy: tuple[str, ...]) -> list[str]:
        if len(busy) > MOST_DEPTH:
            raise TooMuchText
        out: list[str] = []
        at = 0
        while at < len(words):
            word = words[at]
            macro = self.macros.get(word) if word not in busy else None
            if macro is None:
                out.append(word)
            elif macro.parameters is None:
                out += self._replaced(word, macro, [], busy)
            elif words[at + 1 : at + 2] == ["("] and (close := _closing(words, at + 1)):
                out += self._replaced(word, macro, _arguments(words[at + 2 : close]), busy)
                at = close
            else:
                out.append(word)
            at += 1
            self._count(1)
        return out

    def _directive(self, tokens: Tokens, first: int) -> None:
        words: list[int] = []
        at = first + 1
        while at < len(tokens) and tokens.same_line_of_code(at, first):
            words.append(at)
            at += 1
        if len(words) < 2 or not _NAME.fullmatch(tokens[words[1]]):
            return
        name = tokens[words[1]]
        if tokens[words[0]] == "undef":
            self.macros.pop(name, None)
        elif tokens[words[0]] == "define":
            self.macros[name] = _macro(tokens, words)


def _macro(tokens: Tokens, words: list[int]) -> Macro:
    """The definition on a line whose tokens these are: `define`, the name, the rest."""
    rest = words[2:]
    touches = rest and tokens[rest[0]] == "(" and tokens.starts[rest[0]] == tokens.ends[words[1]]
    if not touches:
        return Macro(None, tuple(_words(tokens, rest)))
    close = next((k for k, i in enumerate(rest) if tokens[i] == ")"), len(rest) - 1)
    parameters = [tokens[i] for i in rest[1:close] if tokens[i] != ","]
    variadic = "..." in parameters
    if variadic:
        position = parameters.index("...")
        named = position and rest[1:close] and tokens[rest[1:close][-2]] not in (",", "(")
        parameters = [
            *parameters[: position - (1 if named else 0)],
            parameters[position - 1] if named else "__VA_ARGS__",
        ]
    return Macro(tuple(parameters), tuple(_words(tokens, rest[close + 1 :])), variadic)


def _behind_operator(tokens: Tokens, at: int) -> int:
    """The index behind the longest operator that begins here; of any other token behind itself."""
    for behind in (at + 3, at + 2):
        if tokens.kinds[at] == Kind.PUNCT and behind <= len(tokens):
            text = tokens.text[tokens.starts[at] : tokens.ends[behind - 1]]
            if text in _OPERATORS and tokens.same_line_of_code(at, behind - 1):
                return behind
    return at + 1


def _words(tokens: Tokens, indices: Sequence[int]) -> list[str]:
    """These tokens, operators of several as one word."""
    words: list[str] = []
    known = set(indices)
    behind = 0
    for at in indices:
        if at >= behind:
            behind = _behind_operator(tokens, at)
            behind = behind if behind - 1 in known else at + 1
            words.append(tokens.text[tokens.starts[at] : tokens.ends[behind - 1]])
    return words


def _named(macro: Macro, arguments: list[list[str]]) -> dict[str, list[str]]:
    parameters = macro.parameters or ()
    given = {name: (arguments[k] if k < len(arguments) else []) for k, name in enumerate(parameters)}
    if macro.variadic and parameters:
        rest = arguments[len(parameters) - 1 :]
        joined: list[str] = []
        for k, argument in enumerate(rest):
            joined += [*([","] if k else []), *argument]
        given[parameters[-1]] = joined
    return given


def _arguments(words: list[str]) -> list[list[str]]:
    """The words between a macro's brackets, cut at its own commas."""
    found: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += (word in "([{") - (word in ")]}") if len(word) == 1 else 0
        if word == "," and depth == 0:
            found.append([])
        else:
            found[-1].append(word)
    return found


def _closing(words: list[str], opened: int) -> int:
    depth = 0
    for at in range(opened, len(words)):
        depth += (words[at] == "(") - (words[at] == ")")
        if depth == 0:
            return at
    return 0
