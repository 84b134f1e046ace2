"""A writer of compound files (MS-CFB), as small as an Outlook message in a test needs it."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from itertools import pairwise

_SECTOR, _SMALL, _CUTOFF = 512, 64, 4096
_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD


@dataclass
class Storage:
    """A folder: streams are bytes, folders are storages."""

    entries: dict[str, bytes | Storage] = field(default_factory=dict)


class _Writer:
    def __init__(self) -> None:
        self.directory: list[bytes] = []
        self.sectors: list[bytes] = []
        self.chain: list[int] = []
        self.small = bytearray()
        self.small_chain: list[int] = []

    def put(self, data: bytes) -> int:
        """Data in sectors of their own; the number of the first."""
        if not data:
            return _END
        first = len(self.sectors)
        pieces = [data[at : at + _SECTOR].ljust(_SECTOR, b"\0") for at in range(0, len(data), _SECTOR)]
        self.sectors += pieces
        self.chain += [*range(first + 1, first + len(pieces)), _END]
        return first

    def put_small(self, data: bytes) -> int:
        if not data:
            return _END
        first = len(self.small_chain)
        count = -(-len(data) // _SMALL)
        self.small += data.ljust(count * _SMALL, b"\0")
        self.small_chain += [*range(first + 1, first + count), _END]
        return first

    def add(self, name: str, item: bytes | Storage, *, kind: int) -> int:
        """An entry of the directory, its right neighbour and child filled in by :meth:`folder`."""
        number = len(self.directory)
        self.directory.append(b"")
        child, start, size = _FREE, 0, 0
        if isinstance(item, Storage):
            child = self.folder(item)
        else:
            size = len(item)
            start = self.put_small(item) if size < _CUTOFF else self.put(item)
        self.directory[number] = self.entry(name, kind, child, start, size)
        return number

    def folder(self, storage: Storage) -> int:
        """The first of the entries; the others hang to the right of it, which readers accept."""
        names = sorted(storage.entries, key=lambda name: (len(name), name.upper()))
        numbers = []
        for name in names:
            item = storage.entries[name]
            numbers.append(self.add(name, item, kind=1 if isinstance(item, Storage) else 2))
        for number, right in pairwise(numbers):
            entry = self.directory[number]
            self.directory[number] = entry[:72] + struct.pack("<I", right) + entry[76:]
        return numbers[0] if numbers else _FREE

    @staticmethod
    def entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
        raw = name.encode("utf-16-le") + b"\0\0"
        head = raw.ljust(64, b"\0") + struct.pack("<HBB3I", len(raw), kind, 1, _FREE, _FREE, child)
        return head + b"\0" * 36 + struct.pack("<IQ", start, size)


def compound(root: Storage) -> bytes:
    """The file."""
    writer = _Writer()
    writer.directory.append(b"")
    child = writer.folder(root)
    small = writer.put(bytes(writer.small))
    writer.directory[0] = writer.entry("Root Entry", 5, child, small, len(writer.small))
    raw = b"".join(writer.directory)
    directory = writer.put(raw.ljust(-(-len(raw) // _SECTOR) * _SECTOR, b"\0"))
    table = struct.pack(f"<{len(writer.small_chain)}I", *writer.small_chain)
    small_table = writer.put(table.ljust(-(-len(table) // _SECTOR) * _SECTOR, b"\xff"))
    count = 1
    while len(writer.chain) + count > count * _SECTOR // 4:
        count += 1
    fat = [len(writer.sectors) + number for number in range(count)]
    chain = [*writer.chain, *([_FAT] * count)]
    chain += [_FREE] * (count * _SECTOR // 4 - len(chain))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 16 + struct.pack("<5H6x", 0x3E, 3, 0xFFFE, 9, 6)
    header += struct.pack(
        "<9I", 0, count, directory, 0, _CUTOFF, small_table, -(-len(table) // _SECTOR), _END, 0
    )
    header += struct.pack(f"<{count}I", *fat).ljust(436, b"\xff")
    return header + b"".join(writer.sectors) + struct.pack(f"<{len(chain)}I", *chain)


def outlook_message(
    *,
    subject: str,
    body: str,
    sender: str,
    attachments: dict[str, bytes],
    inline: frozenset[str] = frozenset(),
) -> bytes:
    """An Outlook message (MS-OXMSG) with text properties in Unicode."""
    root = Storage()
    rows = _properties(root, {0x0037: subject, 0x1000: body, 0x0C1A: sender, 0x001A: "IPM.Note"})
    root.entries["__properties_version1.0"] = (
        struct.pack("<8x4I8x", 0, len(attachments), 0, len(attachments)) + rows
    )
    for number, (name, data) in enumerate(attachments.items()):
        part = Storage()
        words = {0x3707: name} | ({0x3712: f"cid{number}"} if name in inline else {})
        rows = _properties(part, words) + _row(0x3701, 0x0102, len(data)) + _row(0x3705, 3, 1)
        part.entries["__substg1.0_37010102"] = data
        part.entries["__properties_version1.0"] = b"\0" * 8 + rows
        root.entries[f"__attach_version1.0_#{number:08X}"] = part
    return compound(root)


def _properties(storage: Storage, words: dict[int, str]) -> bytes:
    rows = b""
    for number, text in words.items():
        raw = text.encode("utf-16-le")
        storage.entries[f"__substg1.0_{number:04X}001F"] = raw
        rows += _row(number, 0x1F, len(raw) + 2)
    return rows


def _row(number: int, kind: int, value: int) -> bytes:
    return struct.pack("<HHIII", kind, number, 6, value, 0)
