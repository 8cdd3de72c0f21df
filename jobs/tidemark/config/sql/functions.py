"""Spark SQL functions that an expression may call: those that give one value from one row, equal at each call.

This is an allow-list, since Spark's own `deterministic` flag is true for `current_timestamp`. Left out on purpose:
functions that read a clock, the session, files or randomness; that call Java; that fail on a bad value instead of
giving null (such as `to_number`; use `try_to_number`); aggregates, window functions, generators.
"""

from __future__ import annotations

_TIME = """
add_months convert_timezone date date_add date_diff date_format date_from_unix_date date_part date_sub
date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear extract from_unixtime
from_utc_timestamp hour last_day make_date make_dt_interval make_interval make_timestamp make_timestamp_ltz
make_timestamp_ntz make_ym_interval minute month monthname months_between next_day quarter second timestamp
timestamp_micros timestamp_millis timestamp_seconds timestampadd timestampdiff to_date to_timestamp
to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp trunc try_make_interval
try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_to_date try_to_timestamp unix_date
unix_micros unix_millis unix_seconds unix_timestamp weekday weekofyear year
"""
_TEXT = """
ascii base64 bit_length btrim char char_length character_length chr concat concat_ws contains elt endswith
find_in_set format_number format_string hex initcap instr lcase left len length levenshtein locate lower
lpad ltrim luhn_check mask octet_length overlay parse_url position printf regexp_count regexp_extract
regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse right rlike
rpad rtrim soundex space split split_part startswith string substr substring substring_index to_char
to_varchar translate trim try_parse_url try_to_binary try_to_number try_url_decode ucase unhex upper
url_encode
"""
_NUMBER = """
abs acos acosh asin asinh atan atan2 atanh bigint bin binary bit_count bit_get boolean bround cast cbrt ceil
ceiling conv cos cosh cot csc decimal degrees div double e exp expm1 factorial float floor getbit hypot int
ln log log10 log1p log2 mod negative pi pmod positive pow power radians rint round sec shiftleft shiftright
shiftrightunsigned sign signum sin sinh smallint sqrt tan tanh tinyint try_add try_cast try_divide try_mod
try_multiply try_subtract width_bucket
"""
_CHOICE = """
coalesce equal_null greatest if ifnull isnan isnotnull isnull least nanvl nullif nullifzero nvl nvl2
zeroifnull
"""
_HASH = """
crc32 hash md5 sha sha1 sha2 xxhash64
"""
_NESTED = """
aggregate array array_append array_compact array_contains array_distinct array_except array_insert
array_intersect array_join array_max array_min array_position array_prepend array_remove array_repeat
array_size array_sort array_union arrays_overlap arrays_zip cardinality element_at exists filter flatten
forall from_json get get_json_object json_array_length json_object_keys map map_concat map_contains_key map_entries
map_filter map_from_arrays map_from_entries map_keys map_values map_zip_with named_struct reduce size slice
sort_array str_to_map struct to_json transform transform_keys transform_values try_element_at zip_with
"""
_AGGREGATES = """
any any_value approx_count_distinct approx_percentile array_agg avg bit_and bit_or bit_xor bool_and bool_or
collect_list collect_set corr count count_if count_min_sketch covar_pop covar_samp every first first_value
grouping grouping_id histogram_numeric kurtosis last last_value listagg max max_by mean median min min_by mode
percentile percentile_approx regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope skewness some
std stddev stddev_pop stddev_samp string_agg sum try_avg try_sum var_pop var_samp variance
"""
_WINDOWS = """
cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number session_window window window_time
"""
_SESSION = """
current_catalog current_database current_date current_schema current_time current_timestamp current_timezone
current_user localtimestamp session_user user
"""
_NUMBERS_OF_TIMES = """
to_unix_timestamp unix_date unix_micros unix_millis unix_seconds unix_timestamp
"""
_GRAMMAR = """
all and as between both by case dec distinct else end escape for from ilike in interval is leading like not
numeric or placing regexp then trailing using varchar when where
"""

ALLOWED_FUNCTIONS = frozenset((_TIME + _TEXT + _NUMBER + _CHOICE + _HASH + _NESTED).split())
AGGREGATES = frozenset(_AGGREGATES.split())
WINDOW_FUNCTIONS = frozenset(_WINDOWS.split())

SESSION_WORDS = frozenset(_SESSION.split())
"""Words that Spark reads as a function call even without parentheses."""

NUMBER_FUNCTIONS = frozenset(_NUMBERS_OF_TIMES.split())
"""Functions that turn a time into a number."""

KEYWORDS = frozenset(_GRAMMAR.split())
"""Words of the grammar that may come before a parenthesis without being a function."""
