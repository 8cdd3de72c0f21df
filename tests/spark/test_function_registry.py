"""Every function of Spark is allowed in expressions, or was looked at and is not: a new one is refused until then."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tidemark.config.sql.arities import takes
from tidemark.config.sql.functions import AGGREGATES, ALLOWED_FUNCTIONS, KEYWORDS, SESSION_WORDS, WINDOW_FUNCTIONS
from tidemark.spark.jvm_functions import running

OPERATORS = """
! != % & * + - / < << <= <=> <> = == > >= >> >>> ^ | || ~ and or not between case when in like ilike regexp
"""
CLOCK_SESSION_OR_CHANCE = """
curdate current_path now monotonically_increasing_id spark_partition_id python_worker_logs rand randn random randstr
shuffle uniform uuid version
"""
FILES_OR_TABLES = """
collations input_file_block_length input_file_block_start input_file_name range sql_keywords
"""
JAVA = "java_method reflect try_reflect"
MANY_ROWS = """
explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer stack variant_explode
variant_explode_outer
"""
FAILS_ON_BAD_VALUES = """
aes_decrypt aes_encrypt assert_true decode encode make_time raise_error time to_binary to_number to_time unbase64
url_decode validate_utf8
"""
READS_TEXT_BY_OPTIONS_OR_LOCALE = """
from_avro from_csv from_protobuf from_xml schema_of_avro schema_of_csv schema_of_json schema_of_xml
sentences to_avro to_csv to_protobuf to_xml xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long
xpath_number xpath_short xpath_string
"""
VALUES_THAT_NOT_EVERY_READER_HOLDS = """
collate collation is_valid_variant is_variant_null parse_json schema_of_variant schema_of_variant_agg st_asbinary
st_geogfromwkb st_geomfromwkb st_setsrid st_srid time_bucket time_diff time_from_micros time_from_millis
time_from_seconds time_to_micros time_to_millis time_to_seconds time_trunc to_variant_object try_parse_json
try_to_time try_variant_get variant_get
"""
NOT_NEEDED_YET = """
is_valid_utf8 make_valid_utf8 measure percentile_cont percentile_disc quote regr_sxx regr_sxy regr_syy sequence
try_aes_decrypt try_validate_utf8 typeof vector_avg vector_cosine_similarity vector_inner_product vector_l2_distance
vector_norm vector_normalize vector_sum
"""
SKETCHES = ("approx_top_k", "bitmap_", "hll_", "kll_", "theta_", "tuple_")
"""Prefixes: their bytes are for other functions, and may depend on the order of rows."""
REFUSED = frozenset(
    "\n".join((
        OPERATORS, CLOCK_SESSION_OR_CHANCE, FILES_OR_TABLES, JAVA, MANY_ROWS, FAILS_ON_BAD_VALUES,
        READS_TEXT_BY_OPTIONS_OR_LOCALE, VALUES_THAT_NOT_EVERY_READER_HOLDS, NOT_NEEDED_YET,
    )).split()
)  # fmt: skip
KNOWN = ALLOWED_FUNCTIONS | AGGREGATES | WINDOW_FUNCTIONS | SESSION_WORDS
OF_THE_GRAMMAR = frozenset({"timestampadd", "timestampdiff", "try_cast"})
"""Allowed, and read by the parser itself: the registry does not list them."""


def test_every_function_of_spark_is_allowed_or_was_looked_at(spark: SparkSession) -> None:
    found = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    looked_at = {name for name in found if name.startswith(SKETCHES)} | REFUSED
    assert found - KNOWN - looked_at == set(), "look at each: allow it in config/sql/functions.py, or list it here"
    assert KNOWN - found == OF_THE_GRAMMAR
    assert REFUSED - found == set(), "Spark has these no longer"
    assert KNOWN & looked_at == set()


def test_what_is_refused_is_no_word_that_may_stand_before_a_parenthesis() -> None:
    assert {name for name in REFUSED & KEYWORDS if name not in OPERATORS.split()} == set()


MOST_ARGUMENTS = 12
NOT_LOOKED_UP = frozenset({"cast", *OF_THE_GRAMMAR})
MISCOUNTED = ("WRONG_NUM_ARGS", "REQUIRED_PARAMETER_NOT_FOUND")


def test_each_function_takes_as_many_arguments_as_spark_says(spark: SparkSession) -> None:
    jvm = running()
    literal = getattr(getattr(jvm.org.apache.spark.sql.catalyst.expressions, "Literal$"), "MODULE$")
    text, some = literal.apply("x"), jvm.scala.Option.apply
    registry = spark._jsparkSession.sessionState().functionRegistry()

    def accepted(name: str, count: int) -> bool:
        """Whether Spark has no objection to the number; to the types it may have one."""
        called = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name, some("builtin"), some("system"))
        try:
            made = registry.lookupFunction(called, jvm.PythonUtils.toSeq([text] * count))
            said = f"{made.checkInputDataTypes()} {made.resolved()}"
            if name == "try_parse_url":  # looks at its arguments where it is replaced
                said += str(made.children().head().child().checkInputDataTypes())
        except Exception as error:  # noqa: BLE001 # of many kinds: what it says is looked at
            said = str(error)
        return not any(each in said for each in MISCOUNTED)

    names = sorted((ALLOWED_FUNCTIONS | AGGREGATES) - NOT_LOOKED_UP)
    found = {(name, count): accepted(name, count) for name in names for count in range(MOST_ARGUMENTS + 1)}
    assert {each: takes(*each) for each in found if takes(*each) != found[each]} == {}
