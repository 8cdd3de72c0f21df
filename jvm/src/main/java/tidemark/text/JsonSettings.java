package tidemark.text;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.unsafe.types.UTF8String;
import scala.jdk.javaapi.CollectionConverters;

/** Settings of Jackson that follow from Spark's options for JSON, as Spark itself sets them. */
final class JsonSettings {
    private final Map<String, String> options = new HashMap<>();

    /** Takes Spark's options, whose names are in any case. */
    JsonSettings(scala.collection.immutable.Map<String, String> options) {
        CollectionConverters.asJava(options)
            .forEach((name, value) -> this.options.put(name.toLowerCase(Locale.ROOT), value));
    }

    /** Returns the maker of parsers. */
    JsonFactory factory() {
        return new JsonFactoryBuilder()
            .configure(JsonReadFeature.ALLOW_JAVA_COMMENTS, isSet("allowcomments", false))
            .configure(JsonReadFeature.ALLOW_UNQUOTED_FIELD_NAMES, isSet("allowunquotedfieldnames", false))
            .configure(JsonReadFeature.ALLOW_SINGLE_QUOTES, isSet("allowsinglequotes", true))
            .configure(JsonReadFeature.ALLOW_LEADING_ZEROS_FOR_NUMBERS, isSet("allownumericleadingzeros", false))
            .configure(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS, isSet("allownonnumericnumbers", true))
            .configure(
                JsonReadFeature.ALLOW_BACKSLASH_ESCAPING_ANY_CHARACTER,
                isSet("allowbackslashescapinganycharacter", false))
            .configure(JsonReadFeature.ALLOW_UNESCAPED_CONTROL_CHARS, isSet("allowunquotedcontrolchars", false))
            .build();
    }

    /** Opens a parser over the bytes of a line. It is in memory, so that closing it frees nothing. */
    static JsonParser open(JsonFactory factory, UTF8String line) {
        ByteBuffer bytes = line.getByteBuffer();
        try {
            return factory.createParser(bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.remaining());
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
    }

    /** Returns the locale that decimals in quotes are written for. */
    Locale locale() {
        String language = this.options.get("locale");
        return language == null ? Locale.US : Locale.forLanguageTag(language);
    }

    /** Returns true if dates are written with a time of day. */
    boolean datesHaveHours() {
        return this.options.getOrDefault("dateformat", "").replaceAll("'[^']*'", "").matches(".*[HhKk].*");
    }

    private boolean isSet(String option, boolean byDefault) {
        String value = this.options.get(option);
        return value == null ? byDefault : Boolean.parseBoolean(value);
    }
}
