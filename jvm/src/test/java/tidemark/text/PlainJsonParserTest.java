package tidemark.text;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class PlainJsonParserTest {
    private static final StructType SCHEMA = (StructType) DataType.fromDDL(
        "s STRING, l BIGINT, i INT, d DOUBLE, b BOOLEAN, t TIMESTAMP, a DATE, f FLOAT, x ARRAY<INT>,"
            + " corrupt STRING, plain BOOLEAN, unknown STRING");
    private static final int CORRUPT = SCHEMA.fieldIndex("corrupt");
    private static final int PLAIN = SCHEMA.fieldIndex("plain");
    private static final int UNKNOWN = SCHEMA.fieldIndex("unknown");

    private final PlainJsonParser parser = new PlainJsonParser(SCHEMA, CORRUPT, PLAIN, UNKNOWN);

    /** Parses a line that other bytes, which are no part of the line, surround. */
    private InternalRow parse(byte[] line) {
        byte[] bytes = new byte[line.length + 2];
        bytes[0] = '{';
        bytes[line.length + 1] = '}';
        System.arraycopy(line, 0, bytes, 1, line.length);
        return this.parser.parse(bytes, 1, line.length + 1);
    }

    private InternalRow parse(String line) {
        return parse(bytes(line, StandardCharsets.UTF_8));
    }

    /** Lines of these tests have single quotes where JSON has double ones. */
    private static byte[] bytes(String line, Charset charset) {
        return line.replace('\'', '"').getBytes(charset);
    }

    private Object value(String column, String json) {
        InternalRow row = parse("{'" + column + "':" + json + "}");
        int index = SCHEMA.fieldIndex(column);
        return row == null || row.isNullAt(index) ? null : row.get(index, SCHEMA.fields()[index].dataType());
    }

    private void assertOdd(String line) {
        assertNull(parse(line), line);
    }

    @Test
    @DisplayName("a plain line gives the values of its columns, in any order and with blanks between them")
    void plainLine() {
        InternalRow row = parse("{ 'd' : -1.25 ,\t's':'\u00e9','b':true,'l':null,'i':7,'a':'1970-01-02'} \r");
        assertEquals("\u00e9", row.getUTF8String(0).toString());
        assertTrue(row.isNullAt(1));
        assertEquals(7, row.getInt(2));
        assertEquals(-1.25, row.getDouble(3));
        assertTrue(row.getBoolean(4));
        assertTrue(row.isNullAt(5));
        assertEquals(1, row.getInt(6));
        assertTrue(row.getBoolean(PLAIN));
        assertTrue(row.isNullAt(UNKNOWN));
        assertEquals(1_000_000L, value("t", "'1970-01-01T00:00:01Z'"));
    }

    @Test
    @DisplayName("nothing stays of the line before")
    void noMemory() {
        assertNotNull(parse("{'s':'x','i':1,'zz':2}"));
        InternalRow row = parse("{'i':2}");
        assertTrue(row.isNullAt(0));
        assertEquals(2, row.getInt(2));
        assertTrue(row.isNullAt(UNKNOWN));
    }

    @Test
    @DisplayName("names of members that the schema lacks are listed, and their plain values passed over")
    void unknownMembers() {
        InternalRow row = parse("{'zz':1,'s':'x','corrupt':'y','plain':false}");
        assertEquals("zz\ncorrupt\nplain", row.getUTF8String(UNKNOWN).toString());
        assertTrue(row.isNullAt(CORRUPT));
        assertTrue(row.getBoolean(PLAIN));
        assertOdd("{'zz':[1]}");
    }

    @Test
    @DisplayName("whole numbers are read up to 18 digits, where their column holds them exactly")
    void wholeNumbers() {
        assertEquals(999_999_999_999_999_999L, value("l", "999999999999999999"));
        assertEquals(-999_999_999_999_999_999L, value("l", "-999999999999999999"));
        assertNull(value("l", "1000000000000000000"));
        assertEquals(Integer.MAX_VALUE, value("i", "2147483647"));
        assertEquals(Integer.MIN_VALUE, value("i", "-2147483648"));
        assertNull(value("i", "2147483648"));
        assertNull(value("i", "-2147483649"));
        assertEquals(9_007_199_254_740_992.0, value("d", "9007199254740992"));
        assertNull(value("d", "9007199254740993"));
    }

    @Test
    @DisplayName("numbers with a fraction are read if their digits are exact as a double")
    void fractions() {
        assertEquals(0.1, value("d", "0.1"));
        assertEquals(-0.0, value("d", "-0.0"));
        assertEquals(9.007199254740991, value("d", "9.007199254740991"));
        assertNull(value("d", "9.007199254740992"));
        assertNull(value("l", "1.0"));
        assertNull(value("f", "1.5"));
    }

    @Test
    @DisplayName("a number that is not JSON, or has an exponent, is not plain")
    void oddNumbers() {
        String[] odd = {
            "01", "-", "-01", ".5", "1.", "1..2", "1.2.3", "+1", "1e2", "1E2", "NaN", "0x1", "1 2", "--1"
        };
        for (String number : odd) {
            assertOdd("{'d':" + number + "}");
            assertOdd("{'zz':" + number + "}");
        }
    }

    @Test
    @DisplayName("a value of another type than its column is not plain, but null always is")
    void otherTypes() {
        for (String line : new String[] {"'s':1", "'i':'1'", "'b':1", "'i':true", "'a':1", "'b':'true'"}) {
            assertOdd("{" + line + "}");
        }
        assertOdd("{'t':'31.01.2026'}");
        assertNotNull(parse("{'x':null,'f':null,'t':null}"));
        assertOdd("{'x':[1]}");
        for (String word : new String[] {"nul", "nulll", "True", "tru", "falsey", "n"}) {
            assertOdd("{'b':" + word + "}");
        }
    }

    @Test
    @DisplayName("a member that occurs twice is not plain")
    void duplicates() {
        assertOdd("{'i':1,'i':1}");
        assertOdd("{'i':null,'i':1}");
        assertOdd("{'i':1,'s':'x','i':null}");
    }

    @Test
    @DisplayName("escapes and control characters are not plain")
    void escapes() {
        assertOdd("{'s':'a\\nb'}");
        assertOdd("{'s\\u0031':'a'}");
        assertOdd("{'zz':'\\''}");
        assertOdd("{'s':'a\tb'}");
        assertOdd("{'s':'a\0b'}");
        assertEquals("\u007f", value("s", "'\u007f'").toString());
    }

    @Test
    @DisplayName("bytes that are no UTF-8 and a byte order mark are not plain")
    void encodings() {
        assertNotNull(parse("{'s':'\u8a9e\ud83d\ude00'}"));
        assertNull(parse(bytes("{'s':'\u00e9'}", StandardCharsets.ISO_8859_1)));
        assertNull(parse(bytes("{'zz':'\u00e9'}", StandardCharsets.ISO_8859_1)));
        assertNull(parse(bytes("{'s':'e'}", StandardCharsets.UTF_16LE)));
        assertOdd("\ufeff{'s':'e'}");
    }

    @Test
    @DisplayName("a line that is cut short or is no single object is not plain")
    void otherDocuments() {
        String line = "{'s':'x','i':1}";
        for (int length = 0; length < line.length(); length++) {
            assertOdd(line.substring(0, length));
        }
        String[] odd = {
            line + line, line + "x", " " + line, "[" + line + "]", "{}", "null", "{'i':1,}", "{,'i':1}",
            "{'i' 1}", "{'i':}", "{'i':1 's':'x'}", "{i:1}"
        };
        for (String each : odd) {
            assertOdd(each);
        }
    }
}
