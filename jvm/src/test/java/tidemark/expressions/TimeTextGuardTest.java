package tidemark.expressions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TimeTextGuardTest {
    private static UTF8String text(String text) {
        return UTF8String.fromString(text);
    }

    private static DataType structOf(DataType first, DataType second) {
        DataType map = DataTypes.createMapType(DataTypes.StringType, DataTypes.createArrayType(second));
        return new StructType().add("a", first).add("b", map);
    }

    @ParameterizedTest
    @DisplayName("texts that begin with a time of day have no day")
    @ValueSource(strings = {"12:30", "1:2:3", " \t09:00:00", "T10", "T"})
    void timesOfDay(String timeOfDay) {
        assertTrue(TimeTextGuard.isTimeOfDay(text(timeOfDay)));
    }

    @ParameterizedTest
    @DisplayName("texts with a date, and texts that are no time, are not times of day")
    @ValueSource(strings = {"2024-01-02 12:30", "2024", "123:00", "12", "", " ", ":30", "today"})
    void others(String other) {
        assertFalse(TimeTextGuard.isTimeOfDay(text(other)));
    }

    @ParameterizedTest
    @DisplayName("words for the present day are found whatever their case, as whole words")
    @CsvSource({"now,true", "' Today',true", "TOMORROW UTC,true", "nowhere,false", "2024-01-01,false"})
    void words(String word, boolean special) {
        assertEquals(special, TimeTextGuard.isSpecial(text(word)));
    }

    @Test
    @DisplayName("a cast reads times where text becomes TIMESTAMP, at any depth")
    void depth() {
        DataType texts = structOf(DataTypes.IntegerType, DataTypes.StringType);
        assertTrue(TimeTextGuard.readsTimes(texts, structOf(DataTypes.IntegerType, DataTypes.TimestampType)));
        assertFalse(TimeTextGuard.readsTimes(texts, structOf(DataTypes.TimestampType, DataTypes.StringType)));
        assertFalse(TimeTextGuard.readsTimes(DataTypes.StringType, DataTypes.TimestampNTZType));
    }

    @Test
    @DisplayName("an array passes unless one of its texts has no day")
    void arrays() {
        DataType texts = DataTypes.createArrayType(DataTypes.StringType);
        var guard = new TimeTextGuard(texts, DataTypes.createArrayType(DataTypes.TimestampType));
        var dated = new GenericArrayData(new Object[] {text("2024-01-02 10:00"), null});
        assertSame(dated, guard.guarded(dated));
        var without = new GenericArrayData(new Object[] {text("2024-01-02 10:00"), text("10:00")});
        assertThrows(TimeWithoutDay.class, () -> guard.guarded(without));
        var harmless = new TimeTextGuard(texts, texts);
        assertSame(without, harmless.guarded(without));
    }
}
