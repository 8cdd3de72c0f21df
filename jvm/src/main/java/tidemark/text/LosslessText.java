package tidemark.text;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.text.ParsePosition;
import java.util.Base64;
import java.util.Locale;
import java.util.regex.Pattern;

/**
 * Whether a value that is written as text is the same value once it has its column's type. A number for FLOAT or DOUBLE
 * becomes the nearest there is, which is what these types mean; a whole number must stay itself, and none may become
 * zero or infinite. A text that is no value of the type at all is left to the parser, which refuses it.
 */
final class LosslessText {
    private static final int LONGEST = 1000;
    private static final Pattern DAY = Pattern.compile("[+-]?[0-9]{4,7}(-[0-9]{1,2}(-[0-9]{1,2})?)?");
    private static final Pattern MIDNIGHT =
        Pattern.compile("[T ](00?(:00?(:00?(\\.0*)?)?)?)?\\s*(Z|UTC|GMT|[+-]00?(:?00?)?)?");
    private static final Pattern GROUPED = Pattern.compile("[+-]?[0-9]{1,3}(,[0-9]{3})*(\\.[0-9]*)?([eE][+-]?[0-9]+)?");

    private LosslessText() {
    }

    static boolean decimal(BigDecimal number, int scale) {
        return number.signum() == 0 || number.stripTrailingZeros().scale() <= scale;
    }

    /** A text for a DECIMAL of this scale; Spark's parser leaves out commas wherever they are, or goes by a locale. */
    static boolean decimal(String text, int scale, Locale locale) {
        if (text.length() > LONGEST) {
            return false;
        }
        boolean plain = locale.equals(Locale.US);
        if (plain && text.indexOf(',') >= 0 && !GROUPED.matcher(text).matches()) {
            return false;
        }
        try {
            return decimal(plain ? new BigDecimal(text.replace(",", "")) : localized(text, locale), scale);
        } catch (NumberFormatException none) {
            return true;
        }
    }

    private static BigDecimal localized(String text, Locale locale) {
        DecimalFormat format = new DecimalFormat("", new DecimalFormatSymbols(locale));
        format.setParseBigDecimal(true);
        Number found = format.parse(text, new ParsePosition(0));
        return found instanceof BigDecimal ? (BigDecimal) found : BigDecimal.ZERO;
    }

    static boolean real(BigInteger number) {
        double nearest = number.doubleValue();
        return !Double.isInfinite(nearest) && new BigDecimal(nearest).toBigInteger().equals(number);
    }

    static boolean single(BigInteger number) {
        float nearest = number.floatValue();
        return !Float.isInfinite(nearest) && new BigDecimal(nearest).toBigInteger().equals(number);
    }

    /** A text for a DOUBLE, or where `single` for a FLOAT. */
    static boolean real(String given, boolean single) {
        String text = given.strip();
        int begin = !text.isEmpty() && (text.charAt(0) == '-' || text.charAt(0) == '+') ? 1 : 0;
        if (text.length() == begin || (text.charAt(begin) != '.' && !isDigit(text.charAt(begin)))) {
            return true;
        }
        try {
            if (isWhole(text, begin)) {
                return text.length() <= LONGEST && (single ? single(new BigInteger(text)) : real(new BigInteger(text)));
            }
            double nearest = single ? Float.parseFloat(text) : Double.parseDouble(text);
            return !Double.isInfinite(nearest) && (nearest != 0 || isZero(text));
        } catch (NumberFormatException none) {
            return true;
        }
    }

    /** A number that becomes text by way of a double, as one with a fraction or an exponent does in JSON. */
    static boolean asDouble(String text) {
        try {
            double nearest = Double.parseDouble(text);
            boolean number = isDigit(text.charAt(text.charAt(0) == '-' ? 1 : 0));
            return !number || (!Double.isInfinite(nearest)
                && new BigDecimal(text).compareTo(new BigDecimal(Double.toString(nearest))) == 0);
        } catch (NumberFormatException none) {
            return true;
        }
    }

    /** A text for a DATE: Spark would leave out whatever comes after the day. */
    static boolean date(String given) {
        String text = given.strip();
        int day = 0;
        while (day < text.length() && text.charAt(day) != 'T' && text.charAt(day) != ' ') {
            day++;
        }
        boolean alone = day == text.length() || !DAY.matcher(text.substring(0, day)).matches();
        return alone || MIDNIGHT.matcher(text.substring(day)).matches();
    }

    /** A text in base64: bits that make no whole byte must be none. */
    static boolean base64(String text, byte[] bytes) {
        String again = Base64.getEncoder().withoutPadding().encodeToString(bytes);
        return again.equals(text.replaceAll("[\\s=]", ""));
    }

    /** Text of which UTF-8 has every character: half of a surrogate pair would become a question mark. */
    static boolean text(String text) {
        for (int at = 0; at < text.length(); at++) {
            char each = text.charAt(at);
            if (Character.isHighSurrogate(each) && at + 1 < text.length() && Character.isLowSurrogate(text.charAt(at + 1))) {
                at++;
            } else if (Character.isSurrogate(each)) {
                return false;
            }
        }
        return true;
    }

    private static boolean isWhole(String text, int begin) {
        for (int at = begin; at < text.length(); at++) {
            if (!isDigit(text.charAt(at))) {
                return false;
            }
        }
        return true;
    }

    /** Whether no digit before an exponent is other than 0. */
    private static boolean isZero(String text) {
        for (int at = 0; at < text.length() && Character.toLowerCase(text.charAt(at)) != 'e'; at++) {
            if (text.charAt(at) >= '1' && text.charAt(at) <= '9') {
                return false;
            }
        }
        return true;
    }

    private static boolean isDigit(char each) {
        return each >= '0' && each <= '9';
    }
}
