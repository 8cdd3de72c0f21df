package tidemark.text;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.fasterxml.jackson.core.JsonFactory;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class JsonLossCheckTest {
    private static final StructType SCHEMA = (StructType) DataType.fromDDL(
        "s STRING, i TINYINT, d DOUBLE, c DECIMAL(5, 2), a DATE, b BINARY, r STRUCT<x: INT>, l ARRAY<DOUBLE>,"
            + " m MAP<STRING, DATE>");

    private final JsonLossCheck check = new JsonLossCheck(SCHEMA, Locale.US, false);

    /** Lines of these tests have single quotes where JSON has double ones. */
    private static List<String> lost(JsonLossCheck check, String line) throws IOException {
        return check.lostColumns(new JsonFactory().createParser(line.replace('\'', '"'))).stream()
            .mapToObj(column -> SCHEMA.fieldNames()[column]).toList();
    }

    @Test
    @DisplayName("columns are lost by the type of their value, at any depth")
    void lostValues() throws IOException {
        String[] lines = {
            "'s':0.12345678901234567891", "'s':{'x':['\\ud83d']}", "'i':128", "'i':-129",
            "'d':9007199254740993", "'c':1.005", "'c':'1.005'", "'a':'2026-01-31T01:00'", "'b':'YR=='",
            "'r':{'x':1,'x':2}", "'l':[1,1e400]", "'m':{'k':'2026-01-31 01'}",
            "'m':{'k':null,'k':null}"
        };
        for (String line : lines) {
            assertEquals(List.of(line.substring(1, 2)), lost(this.check, "{" + line + "}"), line);
        }
        assertEquals(List.of("c", "a"), lost(this.check, "{'a':1,'a':1,'c':1.234}"));
    }

    @Test
    @DisplayName("values that are kept, or that the parser refuses, are not lost")
    void keptValues() throws IOException {
        String[] lines = {
            "'s':{'x':[1.5,'\\ud83d\\ude00']}", "'i':-128", "'i':1.5", "'d':'x'", "'c':1.230",
            "'a':'2026-01-31'", "'b':'YQ=='", "'r':[1]", "'l':{'x':1e400}", "'zz':1,'zz':2"
        };
        for (String line : lines) {
            assertEquals(List.of(), lost(this.check, "{" + line + "}"), line);
        }
    }

    @Test
    @DisplayName("a date in a form with hours may lose them")
    void datesWithHours() throws IOException {
        assertEquals(List.of(), lost(new JsonLossCheck(SCHEMA, Locale.US, true), "{'a':'2026-01-31T01:00'}"));
    }

    @Test
    @DisplayName("a line that breaks off has the columns up to there, and one that is no object has none")
    void brokenLines() throws IOException {
        assertEquals(List.of("c"), lost(this.check, "{'c':1.005,'i':1"));
        assertEquals(List.of("c"), lost(this.check, "{'c':1.005,x"));
        assertEquals(List.of(), lost(this.check, "[{'c':1.005}]"));
    }

    @Test
    @DisplayName("members that the schema lacks are named with the path to them")
    void unknownMembers() throws IOException {
        lost(this.check, "{'zz':1,'r':{'y':{'z':1}},'r':{'x':1}}");
        assertEquals("zz\nr.y", this.check.unknownMembers().toString());
        lost(this.check, "{'i':1}");
        assertNull(this.check.unknownMembers());
    }
}
