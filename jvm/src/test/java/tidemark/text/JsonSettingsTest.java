package tidemark.text;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.StreamReadConstraints;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import scala.jdk.javaapi.CollectionConverters;

class JsonSettingsTest {
    private static final String[] SWITCHES = {
        "allowComments", "allowUnquotedFieldNames", "allowSingleQuotes", "allowNumericLeadingZeros",
        "allowNonNumericNumbers", "allowBackslashEscapingAnyCharacter", "allowUnquotedControlChars"
    };

    private static scala.collection.immutable.Map<String, String> scala(Map<String, String> options) {
        return scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(options));
    }

    private static List<Object> told(JsonFactory factory) {
        List<Object> found = new ArrayList<>();
        for (JsonParser.Feature feature : JsonParser.Feature.values()) {
            found.add(feature + " " + factory.isEnabled(feature));
        }
        StreamReadConstraints limits = factory.streamReadConstraints();
        found.addAll(List.of(limits.getMaxNestingDepth(), limits.getMaxNumberLength(), limits.getMaxStringLength()));
        return found;
    }

    private static void compare(Map<String, String> options) {
        var settings = new JsonSettings(scala(options));
        var spark = new JSONOptions(scala(options), "UTC", "");
        assertEquals(told(spark.buildJsonFactory()), told(settings.factory()), options.toString());
        assertEquals(spark.locale(), settings.locale(), options.toString());
    }

    @Test
    @DisplayName("parsers are made as Spark makes them, by each option and without any")
    void equalToSpark() {
        compare(Map.of());
        compare(Map.of("locale", "de-DE"));
        for (String each : SWITCHES) {
            compare(Map.of(each, "true"));
            compare(Map.of(each.toLowerCase(java.util.Locale.ROOT), "false"));
        }
    }

    @Test
    @DisplayName("a format of dates has hours if a letter for hours is outside of quotes")
    void hoursOfDates() {
        for (String format : new String[] {"yyyy-MM-dd HH", "hh dd", "K", "k"}) {
            assertEquals(true, new JsonSettings(scala(Map.of("dateFormat", format))).datesHaveHours(), format);
        }
        assertEquals(false, new JsonSettings(scala(Map.of("dateFormat", "yyyy-MM-dd'H'"))).datesHaveHours());
        assertEquals(false, new JsonSettings(scala(Map.of())).datesHaveHours());
    }
}
