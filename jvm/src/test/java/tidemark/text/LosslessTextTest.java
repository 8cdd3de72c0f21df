package tidemark.text;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Locale;
import java.util.function.Predicate;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class LosslessTextTest {
    private static void assertKept(Predicate<String> check, String... texts) {
        for (String text : texts) {
            assertTrue(check.test(text), text);
        }
    }

    private static void assertLost(Predicate<String> check, String... texts) {
        for (String text : texts) {
            assertFalse(check.test(text), text);
        }
    }

    @Test
    @DisplayName("a DECIMAL holds digits up to its scale, and zeros beyond")
    void decimals() {
        Predicate<String> check = text -> LosslessText.fitsDecimal(text, 2, Locale.US);
        assertKept(check, "1.25", "-1.2500", "0", "0.000", "1e2", "125e-2", "1,234.5", "-1,234,567", "none", "");
        assertLost(check, "1.255", "0.001", "1e-3", "1,23", "12,34.5", ",1", "1".repeat(1001));
        assertKept(check, "1".repeat(1000));
    }

    @Test
    @DisplayName("a DECIMAL is read as the locale writes it")
    void localizedDecimals() {
        Predicate<String> check = text -> LosslessText.fitsDecimal(text, 2, Locale.GERMANY);
        assertKept(check, "1.234,25", "1,25", "none");
        assertLost(check, "1,255", "0,001");
    }

    @Test
    @DisplayName("a DOUBLE holds whole numbers exactly or not at all")
    void wholeDoubles() {
        Predicate<String> check = text -> LosslessText.fitsFloating(text, false);
        assertKept(check, "9007199254740992", "-9007199254740992", "9007199254740994", "+0", " 7 ");
        assertKept(check, "1" + "0".repeat(22));
        assertLost(check, "9007199254740993", "-9007199254740993", "1" + "0".repeat(23), "1".repeat(309));
    }

    @Test
    @DisplayName("a FLOAT holds whole numbers exactly or not at all")
    void wholeFloats() {
        Predicate<String> check = text -> LosslessText.fitsFloating(text, true);
        assertKept(check, "16777216", "-16777216", "340282346638528859811704183484516925440");
        assertLost(check, "16777217", "340282346638528859811704183484516925441", "1" + "0".repeat(39));
    }

    @Test
    @DisplayName("another number becomes the nearest, but neither zero nor infinite")
    void fractions() {
        Predicate<String> asDouble = text -> LosslessText.fitsFloating(text, false);
        assertKept(asDouble, "0.1", ".5", "1.7976931348623157e308", "4.9e-324", "0e-400", "-0.0");
        assertKept(asDouble, "none", "", "-", "1x");
        assertLost(asDouble, "1.8e308", "-1e400", "1e-400", "0.1e-400");
        Predicate<String> asFloat = text -> LosslessText.fitsFloating(text, true);
        assertKept(asFloat, "0.1", "3.4028235e38", "1.4e-45");
        assertLost(asFloat, "3.5e38", "1e-46");
    }

    @Test
    @DisplayName("a number becomes text by way of a double with each of its digits or not at all")
    void textOfDoubles() {
        assertKept(LosslessText::keepsValueAsDouble, "12.50", "1e2", "0.30000000000000004", "-0.0", "NaN");
        assertLost(LosslessText::keepsValueAsDouble, "0.300000000000000041", "1e400", "-1e400", "1e-400");
    }

    @Test
    @DisplayName("a DATE has no time of day but midnight in UTC")
    void dates() {
        assertKept(
            LosslessText::fitsDate, "2026-01-31", " 2026-01-31 ", "2026-01-31T00:00:00Z", "2026-01-31 00:00:00.000",
            "2026-01-31T0", "2026-01-31 00:00 UTC", "2026-01-31T00:00:00+00:00", "2026", "none Tomorrow", "");
        assertLost(
            LosslessText::fitsDate, "2026-01-31T00:00:01", "2026-01-31T00:00:00.001", "2026-01-31 12:00",
            "2026-01-31T00:00:00+01:00", "2026-01-31 junk", "2026-01T01");
    }

    @Test
    @DisplayName("bytes have no bits beyond the last in their base64")
    void base64() {
        byte[] bytes = {'a'};
        assertTrue(LosslessText.fitsBase64("YQ==", bytes));
        assertTrue(LosslessText.fitsBase64("Y Q", bytes));
        assertFalse(LosslessText.fitsBase64("YR==", bytes));
    }

    @Test
    @DisplayName("half of a surrogate pair is no character of UTF-8")
    void surrogates() {
        assertKept(LosslessText::fitsUtf8, "", "\u00e9", "\ud83d\ude00", "a\ud83d\ude00b\ud83d\ude00");
        assertLost(LosslessText::fitsUtf8, "\ud83d", "\ude00", "a\ud83db", "\ude00\ud83d", "\ud83d\ud83d\ude00");
    }
}
