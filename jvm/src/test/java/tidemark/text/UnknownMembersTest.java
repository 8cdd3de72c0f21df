package tidemark.text;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import scala.collection.immutable.Map$;

class UnknownMembersTest {
    private static final UnknownMembers MEMBERS = new UnknownMembers(
        DataType.fromDDL("a INT, s STRUCT<x: INT>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, STRUCT<x: INT>>"),
        Map$.MODULE$.empty());

    /** Rows and members of these tests have single quotes where JSON has double ones. */
    private static String evaluate(String row) {
        UTF8String found = MEMBERS.evaluate(UTF8String.fromString(row.replace('\'', '"')));
        return found == null ? null : found.toString().replace('"', '\'');
    }

    @Test
    @DisplayName("members without a column are kept with their text")
    void withoutColumn() {
        assertEquals("{'b': [1, 2],'\u00e9':null}", evaluate("{'b': [1, 2], 'a':1,'\u00e9':null }"));
        assertNull(evaluate("{'a':1,'s':{'x':1},'l':[{'x':1}],'m':{'k':{'x':1}}}"));
    }

    @Test
    @DisplayName("members with something inside that their type lacks are kept whole")
    void inside() {
        for (String member : new String[] {"'s':{'y':1}", "'l':[{},{'x':1,'y':{}}]", "'m':{'k':{'y':1}}"}) {
            assertEquals("{" + member + "}", evaluate("{'a':1," + member + ",'a':2}"));
        }
    }

    @Test
    @DisplayName("a row that does not parse or is no object has none")
    void noObject() {
        assertNull(evaluate("{'b':1,"));
        assertNull(evaluate("[{'b':1}]"));
        assertNull(evaluate(""));
    }
}
