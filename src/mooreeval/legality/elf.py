"""What a shared object says of itself to the loader: its symbols, the libraries it needs, its constructors.

A small reader of 64-bit little-endian ELF files, which is what the linkers here write. Bounds are checked: a file that
is none, or a damaged one, raises BadElf.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NEEDED, _DT_STRTAB, _DT_SYMTAB, _DT_RELA, _DT_RELASZ, _DT_STRSZ = 1, 5, 6, 7, 8, 10
_DT_RPATH, _DT_RUNPATH = 15, 29
_DT_INIT_ARRAY, _DT_INIT_ARRAYSZ, _DT_PREINIT_ARRAY = 25, 27, 32
_R_X86_64_64, _R_X86_64_RELATIVE, _R_AARCH64_ABS64, _R_AARCH64_RELATIVE = 1, 8, 257, 1027
_SHT_SYMTAB, _SHT_DYNSYM = 2, 11
_STT_FUNC, _STT_GNU_IFUNC = 2, 10
_STB_WEAK = 2
_MOST_SYMBOLS = 1 << 20


class BadElf(ValueError):
    """Not a shared object that this reader understands."""


@dataclass(frozen=True)
class Symbol:
    """One entry of a symbol table."""

    name: str
    defined: bool
    weak: bool
    kind: int  # STT_*
    address: int
    size: int  # bytes

    @property
    def is_function(self) -> bool:
        return self.kind in (_STT_FUNC, _STT_GNU_IFUNC)


@dataclass(frozen=True)
class Section:
    """One section: where it lies in the file and in memory."""

    name: str
    kind: int  # SHT_*
    address: int
    offset: int
    size: int  # bytes


@dataclass(frozen=True)
class SharedObject:
    """The parts of a shared object that tell what it does when it is loaded, and what it takes from others."""

    symbols: tuple[Symbol, ...]  # dynamic: what it imports and exports
    all_symbols: tuple[Symbol, ...]  # those of .symtab; empty where it was stripped
    needed: tuple[str, ...]  # file names of libraries
    run_paths: tuple[str, ...]
    constructors: tuple[int, ...]  # addresses of the functions in .init_array; 0 where one is not known
    has_other_constructors: bool  # .preinit_array
    sections: tuple[Section, ...]
    data: bytes

    @property
    def imports(self) -> tuple[str, ...]:
        """Names that others must define, sorted."""
        return tuple(sorted({s.name for s in self.symbols if not s.defined and s.name}))

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the functions that it defines, for others or itself, sorted; weak ones, of templates, left out."""
        every = (*self.all_symbols, *self.symbols)
        return tuple(sorted({s.name for s in every if s.defined and s.is_function and not s.weak and s.name}))

    def section(self, name: str) -> bytes:
        """The bytes of all sections of that name; empty where there is none."""
        return b"".join(self.data[s.offset : s.offset + s.size] for s in self.sections if s.name == name)

    def functions_at(self, address: int) -> tuple[str, ...]:
        """Names of the functions that begin there."""
        every = (*self.all_symbols, *self.symbols)
        return tuple(dict.fromkeys(s.name for s in every if s.defined and s.is_function and s.address == address))


def read_shared_object(path: Path) -> SharedObject:
    """Read one. Raises BadElf, and OSError where there is no such file."""
    data = path.read_bytes()
    try:
        return _read(data)
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise BadElf(f"{path.name} is no shared object that can be read: {error}") from None


@dataclass(frozen=True)
class _Segment:
    kind: int
    offset: int
    address: int
    size: int


def _read(data: bytes) -> SharedObject:
    if data[:6] != b"\x7fELF\x02\x01":
        raise BadElf("not a 64-bit little-endian ELF file")
    segments = list(_segments(data))
    sections = tuple(_sections(data))
    dynamic = _dynamic(data, segments)
    names = _table(data, segments, dynamic, _DT_STRTAB, _DT_STRSZ)
    tags = (_DT_NEEDED, _DT_RPATH, _DT_RUNPATH)
    texts = {tag: [_text(names, value) for t, value in dynamic if t == tag] for tag in tags}
    symbols = tuple(_symbols(data, sections, _SHT_DYNSYM))
    return SharedObject(
        symbols=symbols,
        all_symbols=tuple(_symbols(data, sections, _SHT_SYMTAB)),
        needed=tuple(texts[_DT_NEEDED]),
        run_paths=(*texts[_DT_RPATH], *texts[_DT_RUNPATH]),
        constructors=tuple(_constructors(data, segments, dynamic, symbols)),
        has_other_constructors=any(tag == _DT_PREINIT_ARRAY for tag, _ in dynamic),
        sections=sections,
        data=data,
    )


def _segments(data: bytes) -> Iterator[_Segment]:
    start, entry, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    for k in range(count):
        kind, _flags, offset, address, _, size = struct.unpack_from("<IIQQQQ", data, start + k * entry)
        yield _Segment(kind, offset, address, size)


def _sections(data: bytes) -> Iterator[Section]:
    start = struct.unpack_from("<Q", data, 40)[0]
    entry, count, names_at = struct.unpack_from("<HHH", data, 58)
    if not start or not count:
        raise BadElf("it has no sections")
    heads = [struct.unpack_from("<IIQQQQ", data, start + k * entry) for k in range(count)]
    names_offset, names_size = heads[names_at][4:6]
    names = data[names_offset : names_offset + names_size]
    for name, kind, _flags, address, offset, size in heads:
        yield Section(_text(names, name), kind, address, offset, 0 if kind == 8 else size)  # SHT_NOBITS


def _dynamic(data: bytes, segments: list[_Segment]) -> list[tuple[int, int]]:
    found = [s for s in segments if s.kind == _PT_DYNAMIC]
    if len(found) != 1:
        raise BadElf("it has no dynamic section")
    entries = []
    for k in range(found[0].size // 16):
        tag, value = struct.unpack_from("<qQ", data, found[0].offset + 16 * k)
        if tag == 0:
            break
        entries.append((tag, value))
    return entries


def _offset(segments: list[_Segment], address: int) -> int:
    for s in segments:
        if s.kind == _PT_LOAD and 0 <= address - s.address < s.size:
            return address - s.address + s.offset
    raise BadElf("an address lies outside of the file")


def _table(data: bytes, segments: list[_Segment], dynamic: list[tuple[int, int]], start: int, size: int) -> bytes:
    values = dict(dynamic)
    if start not in values:
        return b""
    offset = _offset(segments, values[start])
    return data[offset : offset + values.get(size, 0)]


def _text(names: bytes, at: int) -> str:
    end = names.index(b"\0", at)
    return names[at:end].decode("utf-8", "replace")


def _symbols(data: bytes, sections: tuple[Section, ...], kind: int) -> Iterator[Symbol]:
    for section in sections:
        if section.kind != kind:
            continue
        if section.size // 24 > _MOST_SYMBOLS:
            raise BadElf("it has too many symbols")
        names = _names_of(data, sections, section)
        for at in range(section.offset + 24, section.offset + section.size, 24):
            name, info, _other, index, address, size = struct.unpack_from("<IBBHQQ", data, at)
            yield Symbol(_text(names, name), index != 0, info >> 4 == _STB_WEAK, info & 15, address, size)


def _names_of(data: bytes, sections: tuple[Section, ...], table: Section) -> bytes:
    """The string table that a symbol table is linked to."""
    start, entry = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 58)[0]
    link = struct.unpack_from("<I", data, start + sections.index(table) * entry + 40)[0]
    return data[sections[link].offset : sections[link].offset + sections[link].size]


def _constructors(
    data: bytes, segments: list[_Segment], dynamic: list[tuple[int, int]], symbols: tuple[Symbol, ...]
) -> Iterator[int]:
    """What relocation will put into .init_array."""
    values = dict(dynamic)
    if _DT_INIT_ARRAY not in values:
        return
    start, size = values[_DT_INIT_ARRAY], values.get(_DT_INIT_ARRAYSZ, 0)
    relocations = _table(data, segments, dynamic, _DT_RELA, _DT_RELASZ)
    targets = {}
    for at in range(0, len(relocations) - 23, 24):
        where, info, addend = struct.unpack_from("<QQq", relocations, at)
        kind, index = info & 0xFFFFFFFF, info >> 32
        if kind in (_R_X86_64_RELATIVE, _R_AARCH64_RELATIVE):
            targets[where] = addend
        elif kind in (_R_X86_64_64, _R_AARCH64_ABS64) and 0 < index <= len(symbols):
            targets[where] = symbols[index - 1].address + addend
    for slot in range(start, start + size, 8):
        yield targets.get(slot, 0)
