package tidemark.text;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class Utf8Test {
    private static boolean isValid(String ascii, int... others) {
        byte[] bytes = ascii.getBytes();
        for (int index = 0; index < others.length; index++) {
            bytes[bytes.length - others.length + index] = (byte) others[index];
        }
        return new Utf8().isValid(UTF8String.fromBytes(bytes));
    }

    @Test
    @DisplayName("a byte beyond ASCII is checked at each place of a text of any length")
    void places() {
        for (int length = 2; length <= 24; length++) {
            String ascii = "x".repeat(length);
            assertTrue(isValid(ascii));
            assertTrue(isValid(ascii, 0xc3, 0xa9));
            assertFalse(isValid(ascii, 0xc3));
            assertFalse(isValid(ascii, 0xa9, 'x'));
        }
        assertTrue(isValid(""));
    }
}
