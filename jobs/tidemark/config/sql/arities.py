"""Number of arguments of each function that expressions may call, from Spark's own registry.

A test holds the numbers to the registry of the Spark that is installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import sqlglot

from tidemark.config.sql.functions import KEYWORDS

_TAKEN = {
    "0": """
e pi
""",
    "0+": """
array arrays_zip concat grouping_id map_concat struct
""",
    "0-2": """
make_ym_interval mode unix_timestamp
""",
    "0-4": """
make_dt_interval
""",
    "0-7": """
make_interval
""",
    "1": """
abs acos acosh any array_agg array_compact array_distinct array_max array_min array_size ascii asin asinh atan
atanh avg base64 bigint bin binary bit_and bit_count bit_length bit_or bit_xor bool_and bool_or boolean
cardinality cbrt char char_length character_length chr collect_list collect_set cos cosh cot count_if crc32 csc
date date_from_unix_date day dayname dayofmonth dayofweek dayofyear decimal degrees double every exp expm1
factorial flatten float grouping hex initcap int isnan isnotnull isnull json_array_length json_object_keys
kurtosis last_day lcase len length ln log10 log1p log2 lower luhn_check map_entries map_from_entries map_keys
map_values max md5 mean median min month monthname negative nullifzero octet_length positive quarter radians
reverse rint sec sha sha1 sign signum sin sinh size skewness smallint some soundex space sqrt std stddev
stddev_pop stddev_samp string sum tan tanh timestamp timestamp_micros timestamp_millis timestamp_seconds tinyint
try_avg try_sum try_url_decode ucase unhex unix_date unix_micros unix_millis unix_seconds upper url_encode
var_pop var_samp variance weekday weekofyear year zeroifnull
""",
    "1+": """
coalesce concat_ws count format_string hash hour minute printf second xxhash64
""",
    "1-2": """
any_value approx_count_distinct array_sort bround btrim ceil ceiling first first_value floor from_unixtime last
last_value listagg log ltrim round rtrim sort_array string_agg to_date to_json to_timestamp to_timestamp_ltz
to_timestamp_ntz to_unix_timestamp trim try_to_binary try_to_date try_to_timestamp
""",
    "1-3": """
str_to_map
""",
    "1-3 6-7": """
make_timestamp try_make_timestamp
""",
    "1-5": """
mask
""",
    "1-7": """
try_make_interval
""",
    "2": """
add_months array_append array_contains array_except array_intersect array_position array_prepend array_remove
array_repeat array_union arrays_overlap atan2 bit_get contains corr covar_pop covar_samp date_add date_diff
date_format date_part date_sub date_trunc dateadd datediff datepart div element_at endswith equal_null exists
extract filter find_in_set forall format_number from_utc_timestamp get get_json_object getbit histogram_numeric
hypot ifnull instr left map_contains_key map_filter map_from_arrays mod nanvl next_day nullif nvl pmod pow power
regexp_count regexp_like regexp_substr regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope repeat
right rlike sha2 shiftleft shiftright shiftrightunsigned startswith to_char to_utc_timestamp to_varchar
transform transform_keys transform_values trunc try_add try_divide try_element_at try_mod try_multiply
try_subtract try_to_number
""",
    "2 6": """
make_timestamp_ntz try_make_timestamp_ntz
""",
    "2+": """
elt greatest least
""",
    "2-3": """
approx_percentile array_join convert_timezone from_json levenshtein locate lpad max_by min_by months_between parse_url
percentile percentile_approx position regexp_extract regexp_extract_all regexp_instr replace rpad split substr
substring try_parse_url
""",
    "2-3 6-7": """
make_timestamp_ltz try_make_timestamp_ltz
""",
    "3": """
array_insert conv if make_date map_zip_with nvl2 slice split_part substring_index translate zip_with
""",
    "3-4": """
aggregate overlay reduce regexp_replace
""",
    "4": """
count_min_sketch width_bucket
""",
    "even": """
map named_struct
""",
}
"""Functions by the numbers of arguments that they take: `2-3` from two to three, `1+` one or more."""
_BY_GRAMMAR = {"dateadd": "2-3", "date_add": "2-3", "datediff": "2-3", "date_diff": "2-3", "decimal": "1-2"}
"""Besides: `date_add(DAY, 1, t)`, and the type `decimal(10, 2)`."""
_IN_WORDS = frozenset(["extract", "overlay", "position", "substr", "substring", "trim"])
"""Functions whose arguments may be put in words, such as `trim(BOTH 'x' FROM y)`; `_WORDS` are these."""
_WORDS = frozenset(["both", "for", "from", "in", "leading", "placing", "trailing"])
_NAMES = {name: counts for counts, names in _TAKEN.items() for name in names.split()}
_OPENING, _CLOSING = ("(", "["), (")", "]")


def takes(name: str, count: int) -> bool:
    """True if a function takes so many arguments. A function that Spark's registry does not list takes any number."""
    return name not in _NAMES or _within(_NAMES[name], count)


def counted(tokens: Sequence[sqlglot.Token], index: int) -> str:
    """Problem with the number of arguments of the call that begins at a token; empty if there is none."""
    name, given = tokens[index].text.lower(), list(_top_level(tokens, index + 1))
    counts = _BY_GRAMMAR.get(name, _NAMES.get(name))
    in_words = name in _IN_WORDS and any(text.lower() in _WORDS for text in given)
    if counts is None or in_words or _is_operator(tokens, index):
        return ""
    count = given.count(",") + 1 if given else 0
    if _within(counts, count):
        return ""
    allowed = "an even number" if counts == "even" else counts.replace(" ", " or ").replace("-", " to ")
    return f"{name}() has {_arguments(count)}: it takes {allowed.replace('+', ' or more')}"


def _within(counts: str, count: int) -> bool:
    if counts == "even":
        return count % 2 == 0
    for each in counts.split():
        least, dash, most = each.partition("-")
        if each.endswith("+"):
            if count >= int(each[:-1]):
                return True
        elif int(least) <= count <= int(most if dash else least):
            return True
    return False


def _top_level(tokens: Sequence[sqlglot.Token], index: int) -> Iterator[str]:
    """The words between the parenthesis at a token and its partner that are in no other."""
    depth = 0
    for token in tokens[index:]:
        depth -= token.text in _CLOSING and not _is_text(token)
        if depth == 1:
            yield "?" if _is_text(token) else token.text
        depth += token.text in _OPENING and not _is_text(token)
        if depth <= 0:
            return


def _is_text(token: sqlglot.Token) -> bool:
    return token.token_type.name.endswith("STRING") or token.token_type.name == "IDENTIFIER"


def _is_operator(tokens: Sequence[sqlglot.Token], index: int) -> bool:
    """True if a word with a parenthesis after it is between two values, as in `a div (b)`, or belongs to an
    operator or to what is before it, as in `like any (...)` and `count(*) filter (...)`."""
    if index == 0:
        return False
    before = tokens[index - 1]
    if before.text.lower() in ("like", "ilike"):
        return tokens[index].text.lower() in ("any", "some")
    value = _is_text(before) or before.token_type.name == "NUMBER" or before.text in _CLOSING
    return value or (before.text[0].isalpha() and before.text.lower() not in KEYWORDS)


def _arguments(count: int) -> str:
    return f"{count or 'no'} argument{'' if count == 1 else 's'}"
