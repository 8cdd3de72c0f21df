"""Finds columns of a file whose values cannot be read without loss as the schema's type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from tidemark.config.types import Column, Type, parse_type

_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_PLAIN = {
    "TINYINT": ("int8",),
    "SMALLINT": ("int16", "int8"),
    "INT": ("int32", "int16", "int8"),
    "BIGINT": ("int64", "int32", "int16", "int8"),
    "BOOLEAN": ("bool",),
    "FLOAT": ("float", "halffloat"),
    "DOUBLE": ("double", "float", "halffloat"),
    "DATE": ("date32[day]",),
    "BINARY": ("binary", "large_binary"),
    "STRING": ("string", "large_string"),
}


def types_of(schema: pa.Schema) -> dict[str, pa.DataType]:
    """The types of a file's columns, names in lower case."""
    return {field.name.lower(): field.type for field in schema}


def differences(columns: Iterable[Column], types: Mapping[str, pa.DataType]) -> list[str]:
    """One sentence for each column of a file (`types`, names in lower case) whose type does not fit the schema's."""
    return [
        f"column {column.name} is {types[column.name.lower()]} in the file, {column.type} in the schema"
        for column in columns
        if column.name.lower() in types and not fits(types[column.name.lower()], parse_type(column.type))
    ]


def taken_for_others(columns: Iterable[Column], types: Mapping[str, pa.DataType]) -> list[str]:
    """One sentence for each column of a Parquet file whose values Spark would misread as whole numbers.

    These are wider numbers, and times, days and decimals: Spark would read the number that stores them.
    """
    known = [column for column in columns if column.name.lower() in types]
    wrong = [column for column in known if _is_taken(types[column.name.lower()], parse_type(column.type))]
    return differences(wrong, types)


def _is_taken(found: pa.DataType, wanted: Type) -> bool:
    if isinstance(found, pa.StructType):
        members = {field.name.lower(): field.type for field in found}
        known = [(members[field.name.lower()], field) for field in wanted.fields if field.name.lower() in members]
        return any(_is_taken(kind, parse_type(field.type)) for kind, field in known)
    if isinstance(found, pa.ListType | pa.LargeListType | pa.MapType):
        kind = found.item_type if isinstance(found, pa.MapType) else found.value_type
        keyed = isinstance(found, pa.MapType) and wanted.key is not None and _is_taken(found.key_type, wanted.key)
        return keyed or (wanted.element is not None and _is_taken(kind, wanted.element))
    bits = _BITS.get(wanted.text)
    if bits is None or pa.types.is_null(found):
        return False
    unsigned = pa.types.is_unsigned_integer(found)
    return not pa.types.is_integer(found) or found.bit_width + unsigned > bits


def fits(found: pa.DataType, wanted: Type) -> bool:
    """True if the schema's type holds every value of the file's type unchanged."""
    kind = wanted.text.split("<")[0].split("(")[0]
    if pa.types.is_dictionary(found):
        found = found.value_type
    if isinstance(found, pa.StructType):
        return kind == "STRUCT" and all(_members_fit(found, wanted))
    if isinstance(found, pa.ListType | pa.LargeListType):
        return kind == "ARRAY" and wanted.element is not None and fits(found.value_type, wanted.element)
    if isinstance(found, pa.MapType):
        return kind == "MAP" and wanted.element is not None and fits(found.item_type, wanted.element)
    if isinstance(found, pa.Decimal128Type):
        return kind == "DECIMAL" and _decimal_fits(found, wanted.text)
    return pa.types.is_timestamp(found) if kind.startswith("TIMESTAMP") else str(found) in _PLAIN.get(kind, ())


def _decimal_fits(found: pa.Decimal128Type, wanted: str) -> bool:
    precision, scale = (int(number) for number in wanted[len("DECIMAL(") : -1].split(","))
    return bool(found.scale <= scale and found.precision - found.scale <= precision - scale)


def _members_fit(found: pa.StructType, wanted: Type) -> Iterator[bool]:
    members = {field.name.lower(): field.type for field in found}
    for field in wanted.fields:
        kind = members.get(field.name.lower())
        yield kind is None or fits(kind, parse_type(field.type))
