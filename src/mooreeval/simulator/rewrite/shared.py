"""`__shared__` declarations become references into the block's shared memory.

    __shared__ float a[32], b;          struct moore_shared_1 { float a[32]; }; struct moore_shared_2 { float b; };
                                        auto& a = ::moore_sim::shared<moore_shared_1>("a").a; auto& b = ...;
    extern __shared__ float s[];        float * const s = (float *)::moore_sim::dynamic_shared();

One struct a variable gives each its own red zone. The declaration's own text stays where it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mooreeval.simulator.rewrite.parameters import macro_parameters
from mooreeval.simulator.rewrite.tokens import Edits, Kind, Tokens

_STORAGE = frozenset(("__shared__", "extern", "static", "__device__", "inline", "thread_local"))
_ATTRIBUTES = frozenset(("__align__", "alignas", "__attribute__", "__attribute", "__declspec"))
_NO_SPECIFIER = frozenset("return else do case goto default public private protected using typedef".split())
_ELABORATED = frozenset(("struct", "union", "class", "enum"))


@dataclass
class _Declarator:
    name: int  # token of the variable's name
    first: int  # first token after the specifiers (pointer operators, parentheses, or the name)
    end: int  # the `,` or `;` behind it, or len(tokens)
    dims: int  # first token behind the name


@dataclass
class _Declaration:
    start: int
    end: int  # the `;`, or the first token behind a declaration in a macro
    specifiers: list[int]
    declarators: list[_Declarator]


class SharedRewriter:
    """Rewrites the `__shared__` declarations of one source; `prefix` keeps the names of several sources apart."""

    def __init__(self, tokens: Tokens, edits: Edits, prefix: str = "moore_shared_"):
        self.tokens, self.edits, self.prefix = tokens, edits, prefix
        self.structs = 0
        self.file_scope: dict[str, str] = {}  # dynamic arrays declared at file scope: name -> expression

    def rewrite(self) -> None:
        i, done = 0, 0
        while i < len(self.tokens):
            if self.tokens[i] == "__shared__" and not self._is_defined(i):
                done = self._statement(i, done)
                i = max(done, i + 1)
            else:
                self._use_of_file_scope_array(i)
                i += 1

    def _is_defined(self, i: int) -> bool:
        """`#define __shared__`, `#ifdef __shared__`, `#undef ...`: no declaration."""
        return self.tokens[i - 1] in ("define", "ifdef", "ifndef", "undef") or self.tokens[i - 1] == "defined"

    def _statement(self, keyword: int, floor: int) -> int:
        declaration = self._parse(keyword, floor)
        if declaration is None:
            return max(self._end(keyword), keyword + 1)  # left to the compiler, which refuses the word
        dynamic = any(self.tokens[i] == "extern" for i in declaration.specifiers)
        if not self._in_function(keyword):
            self._at_file_scope(declaration, dynamic)
            return declaration.end
        for i in declaration.specifiers:
            if self.tokens[i] in _STORAGE:
                self.edits.replace(self.tokens.starts[i], self.tokens.ends[i], "")
        if dynamic:
            self._dynamic(declaration)
        else:
            self._static(declaration)
        return declaration.end

    # -------------------------------------------------------------------------------------------- parsing
    def _parse(self, keyword: int, floor: int) -> _Declaration | None:
        tokens = self.tokens
        start = self._start(keyword, floor)
        end = self._end(keyword)
        first = self._first_declarator_end(keyword, end)
        name = self._name(first, keyword)
        if name is None:
            return None
        head = name
        while tokens[head - 1] in ("*", "&", "(", "const", "volatile", "__restrict__") and head - 1 > keyword:
            head -= 1
        if head == start or all(tokens[i] in _STORAGE for i in range(start, head)):
            return None  # no type
        declaration = _Declaration(start, end, list(range(start, head)), [])
        self._declarators(declaration, head)
        return declaration if declaration.declarators else None

    def _start(self, keyword: int, floor: int) -> int:
        """First specifier of the declaration, which may stand before `__shared__`."""
        tokens, i = self.tokens, keyword
        while i - 1 >= floor and tokens.same_line_of_code(i - 1, keyword):
            before = tokens[i - 1]
            is_specifier = tokens.is_ident(i - 1) and before not in _NO_SPECIFIER and not self._is_macro_head(i - 1)
            if is_specifier or before == "::":
                i -= 1
            elif before == ">":
                opening = _angle_open(tokens, i - 1, floor)
                if opening is None or not tokens.is_ident(opening - 1) or tokens[opening - 1] == "template":
                    return i
                i = opening
            elif before == ")" and tokens[self._attribute(i - 1)] in _ATTRIBUTES:
                i = self._attribute(i - 1)
            else:
                return i
        return i

    def _is_macro_head(self, i: int) -> bool:
        """The words `define NAME` before a macro's body."""
        first = self.tokens.directive_first[self.tokens.directive[i]] if self.tokens.directive[i] else -9
        return i in (first + 1, first + 2)

    def _attribute(self, closing: int) -> int:
        return self.tokens.match[closing] - 1 if self.tokens.match[closing] >= 1 else -1

    def _end(self, keyword: int) -> int:
        """The `;` of the declaration, or where its macro or block ends."""
        tokens, i = self.tokens, keyword
        while i < len(tokens) and tokens.same_line_of_code(i, keyword):
            if tokens[i] == ";" or tokens[i] in (")", "]", "}"):
                return i
            i = tokens.match[i] + 1 if tokens[i] in ("(", "[", "{") and tokens.match[i] > i else i + 1
        return i

    def _first_declarator_end(self, keyword: int, end: int) -> int:
        """Token behind the first variable's name: dimensions, an initialiser, a comma or the end."""
        tokens, i = self.tokens, keyword + 1
        while i < end:
            token = tokens[i]
            if token in (",", "=", "[") or (token == ":" and not self._in_elaborated(keyword, i)):
                return i
            if token == "<" and tokens.is_ident(i - 1):
                i = _angle_close(tokens, i, end)
            elif token == "{":
                if not self._in_elaborated(keyword, i):
                    return i
                i = tokens.match[i] if tokens.match[i] > i else i
            elif token == "(":
                is_attribute = tokens[i - 1] in _ATTRIBUTES or tokens[i - 1] in ("decltype", "alignof", "typeof")
                is_pointer = tokens[i + 1] in ("*", "&")  # `float (*rows)[16]`
                if not (is_attribute or is_pointer) and tokens.is_ident(i - 1) and i - 1 > keyword:
                    return i  # a constructor's arguments
                i = tokens.match[i] if tokens.match[i] > i else i
            elif token == "__attribute__" and tokens.is_ident(i - 1) and tokens[i - 1] not in _STORAGE:
                after = tokens.match[i + 1] + 1 if tokens[i + 1] == "(" and tokens.match[i + 1] > 0 else i
                if tokens[after] in (";", ",", ""):
                    return i  # an attribute behind the name
            i += 1
        return end

    def _in_elaborated(self, keyword: int, i: int) -> bool:
        """Is the brace at i the body of a `struct`, `union` or `enum` in the specifiers?"""
        return any(self.tokens[k] in _ELABORATED for k in range(max(keyword - 4, 0), min(i, keyword + 8)))

    def _name(self, after: int, keyword: int) -> int | None:
        """The variable whose declarator ends before token `after`."""
        tokens, i = self.tokens, after - 1
        if tokens[i] == ")" and tokens.match[i] > keyword:  # (*name)[4]
            inside = [k for k in range(tokens.match[i], i) if tokens.is_ident(k)]
            return inside[-1] if inside else None
        return i if i > keyword and tokens.is_ident(i) else None

    def _declarators(self, declaration: _Declaration, first: int) -> None:
        tokens, i, begin = self.tokens, first, first
        while i <= declaration.end:
            if i == declaration.end or tokens[i] == ",":
                name = self._declarator_name(begin, i)
                if name is None:
                    declaration.declarators.clear()
                    return
                dims = name + 1
                declaration.declarators.append(_Declarator(name, begin, i, dims))
                begin = i + 1
            elif tokens[i] in ("(", "[", "{") and tokens.match[i] > i:
                i = tokens.match[i]
            i += 1

    def _declarator_name(self, begin: int, end: int) -> int | None:
        tokens = self.tokens
        for i in range(begin, end):
            if tokens.is_ident(i) and tokens[i] not in ("const", "volatile", "__restrict__"):
                return i
            if tokens[i] not in ("*", "&", "(", "const", "volatile", "__restrict__"):
                return None
        return None

    # -------------------------------------------------------------------------------------------- writing
    def _behind(self, token: int) -> int:
        """Place in the text behind the token that comes before `token`: it is on the declaration's own line."""
        return self.tokens.ends[token - 1]

    def _static(self, declaration: _Declaration) -> None:
        base = self._base_text(declaration.specifiers, attributes=True)
        references = []
        for k, declarator in enumerate(declaration.declarators):
            self.structs += 1
            struct = f"{self.prefix}{self.structs}"
            name = self.tokens[declarator.name]
            if k == 0:
                self.edits.insert(self.tokens.starts[declaration.start], f"struct {struct} {{ ")
            else:
                comma = declarator.first - 1
                self.edits.replace(
                    self.tokens.starts[comma], self.tokens.ends[comma], f"; }}; struct {struct} {{ {base} "
                )
            references.append(f"auto& {name} = ::moore_sim::shared<{struct}>({self._told(declarator)}).{name}")
            if self._has_initialiser(declarator):
                references.append('static_assert(false, "MOORE_SIM_ERROR: a __shared__ variable has no initializer")')
        self.edits.insert(self._behind(declaration.end), "; }; " + "; ".join(references))

    def _told(self, declarator: _Declarator) -> str:
        """The variable's name as a string literal, spelled by the preprocessor where it is a macro's parameter."""
        name = self.tokens[declarator.name]
        if "##" in (self.tokens[declarator.name - 1], self.tokens[declarator.name + 1]) or not name.isascii():
            return ""
        return f"#{name}" if name in macro_parameters(self.tokens, declarator.name) else f'"{name}"'

    def _has_initialiser(self, declarator: _Declarator) -> bool:
        i = declarator.dims
        while i < declarator.end:
            if self.tokens[i] in ("=", "{") or (self.tokens[i] == "(" and i == declarator.dims):
                return True
            i = self.tokens.match[i] + 1 if self.tokens[i] in ("[", "(") and self.tokens.match[i] > i else i + 1
        return False

    def _dynamic(self, declaration: _Declaration) -> None:
        base = self._base_text(declaration.specifiers, attributes=False)
        for declarator in declaration.declarators:
            last = max(declarator.end - 1, declarator.name)
            self.edits.replace(
                self.tokens.starts[declarator.name], self.tokens.ends[last], self._dynamic_declarator(declarator, base)
            )

    def _dynamic_declarator(self, declarator: _Declarator, base: str) -> str:
        """What stands for `name[]` behind the type: a pointer, or a reference for a variable that is no array."""
        name = self.tokens[declarator.name]
        memory = f"({base} {self._pointer(declarator)})::moore_sim::dynamic_shared()"
        if self.tokens[declarator.dims] != "[":
            return f"& {name} = *{memory}"
        rows = self._row_dimensions(declarator)
        return f"(* const {name}){rows} = {memory}" if rows else f"* const {name} = {memory}"

    def _pointer(self, declarator: _Declarator) -> str:
        """Type of a pointer to an element: "*", or "(*)[32]" for an array of rows."""
        stars = "".join(self.tokens[i] for i in range(declarator.first, declarator.name))
        rows = self._row_dimensions(declarator)
        return f"{stars}(*){rows}" if rows else f"{stars}*"

    def _row_dimensions(self, declarator: _Declarator) -> str:
        """Text of the dimensions behind the first."""
        first = declarator.dims
        if self.tokens[first] != "[" or self.tokens.match[first] < 0:
            return ""
        behind = self.tokens.match[first] + 1
        if self.tokens[behind] != "[":
            return ""
        return " ".join(self.tokens[i] for i in range(behind, declarator.end))

    def _base_text(self, specifiers: list[int], *, attributes: bool) -> str:
        """The type of a declaration on one line, without storage words; optionally without attributes."""
        tokens, parts, i = self.tokens, [], specifiers[0]
        while i <= specifiers[-1]:
            if tokens[i] in _ATTRIBUTES and tokens[i + 1] == "(" and not attributes:
                i = max(tokens.match[i + 1], i)
            elif tokens[i] not in _STORAGE:
                parts.append(tokens[i])
            i += 1
        return re.sub(r"\s*\n\s*", " ", " ".join(parts))

    # -------------------------------------------------------------------------------------------- file scope
    def _in_function(self, i: int) -> bool:
        """Is token i inside a function's body (or a macro's, which is meant for one)?"""
        if self.tokens.directive[i]:
            return True
        scope = self.tokens.scope[i]
        while scope >= 0:
            if self.tokens[scope] == "(" or not _opens_namespace_or_class(self.tokens, scope):
                return True
            scope = self.tokens.scope[scope]
        return False

    def _at_file_scope(self, declaration: _Declaration, dynamic: bool) -> None:
        """A dynamic array at file scope is nothing but a name for the block's dynamic memory."""
        tokens = self.tokens
        if not dynamic:
            message = 'static_assert(false, "MOORE_SIM_UNSUPPORTED: __shared__ variable at file scope")'
            self.edits.replace(tokens.starts[declaration.start], self._behind(declaration.end), message)
            return
        base = self._base_text(declaration.specifiers, attributes=False)
        for declarator in declaration.declarators:
            expression = f"(({base} {self._pointer(declarator)})::moore_sim::dynamic_shared())"
            if tokens[declarator.dims] != "[":
                expression = f"(*{expression})"
            self.file_scope[tokens[declarator.name]] = expression
        self.edits.replace(tokens.starts[declaration.start], self._behind(declaration.end), "")

    def _use_of_file_scope_array(self, i: int) -> None:
        tokens = self.tokens
        if not self.file_scope or tokens.kinds[i] != Kind.IDENT or tokens[i] not in self.file_scope:
            return
        before = tokens[i - 1]
        if before in (".", "->", "::") or self._declares(i) or not self._in_function(i):
            return
        self.edits.replace(tokens.starts[i], tokens.ends[i], self.file_scope[tokens[i]])

    def _declares(self, i: int) -> bool:
        """A local variable or parameter of the same name: `float* s = ...`, `int s;`."""
        tokens = self.tokens
        k = i - 1
        while tokens[k] in ("*", "&", "const", "__restrict__"):
            k -= 1
        if not (tokens.is_ident(k) or tokens[k] == ">") or tokens[k] in _NO_SPECIFIER:
            return False
        return k == i - 1 or (tokens[i + 1] in ("=", ",", ")") and tokens[k - 1] in (";", "{", "}", "(", ",", "const"))


def _opens_namespace_or_class(tokens: Tokens, brace: int) -> bool:
    """Does this `{` belong to a namespace, a class or `extern "C"` rather than to a function?"""
    for i in range(brace - 1, max(brace - 40, -1), -1):
        token = tokens[i]
        if token in ("namespace", "struct", "class", "union", "enum"):
            return True
        if token == "extern":
            return tokens.kinds[i + 1] == Kind.STRING
        if token in (";", "{", "}", ")"):
            return False
    return False


def _angle_open(tokens: Tokens, closing: int, floor: int) -> int | None:
    depth = 0
    for i in range(closing, floor - 1, -1):
        if tokens[i] == ">":
            depth += 1
        elif tokens[i] == "<":
            depth -= 1
            if depth == 0:
                return i
        elif tokens[i] in (";", "{", "}"):
            return None
    return None


def _angle_close(tokens: Tokens, opening: int, end: int) -> int:
    """The `>` that ends the template arguments, or `opening` where there is none."""
    depth, i = 0, opening
    while i < end:
        token = tokens[i]
        if token == "<":
            depth += 1
        elif token == ">":
            depth -= 1
            if depth == 0:
                return i
        elif token in ("(", "[", "{") and tokens.match[i] > i:
            i = tokens.match[i]
        i += 1
    return opening
