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
 * Checks that a value written as text keeps its value when it gets a type. A FLOAT or DOUBLE is the nearest number
 * there is, as these types mean; but a whole number must be kept exactly, and no other may become zero or infinite.
 * Text that is no value of the type passes: the parser refuses it.
 */
final class LosslessText {
    /** Characters of the longest number that is looked at; a longer one does not pass. */
    private static final int LONGEST = 1000;
    private static final Pattern DAY = Pattern.compile("[+-]?[0-9]{4,7}(-[0-9]{1,2}(-[0-9]{1,2})?)?");
    private static final Pattern MIDNIGHT =
        Pattern.compile("[T ](00?(:00?(:00?(\\.0*)?)?)?)?\\s*(Z|UTC|GMT|[+-]00?(:?00?)?)?");
    private static final Pattern GROUPED =
        Pattern.compile("[+-]?[0-9]{1,3}(,[0-9]{3})*(\\.[0-9]*)?([eE][+-]?[0-9]+)?");

    private LosslessText() {
    }

    /**
     * Returns true if a DECIMAL of this scale holds the number. Its precision is not looked at: Spark's parser
     * refuses a number with too many digits.
     *
     * @param locale the locale that the number is written for; in that of the United States, where Spark's parser
     *     leaves out commas wherever they are, they must separate thousands
     */
    static boolean fitsDecimal(String text, int scale, Locale locale) {
        if (text.length() > LONGEST) {
            return false;
        }
        boolean american = locale.equals(Locale.US);
        if (american && text.indexOf(',') >= 0 && !GROUPED.matcher(text).matches()) {
            return false;
        }
        try {
            BigDecimal number = american ? new BigDecimal(text.replace(",", "")) : localized(text, locale);
            return number.signum() == 0 || number.stripTrailingZeros().scale() <= scale;
        } catch (NumberFormatException noNumber) {
            return true;
        }
    }

    private static BigDecimal localized(String text, Locale locale) {
        var format = new DecimalFormat("", new DecimalFormatSymbols(locale));
        format.setParseBigDecimal(true);
        return format.parse(text, new ParsePosition(0)) instanceof BigDecimal number ? number : BigDecimal.ZERO;
    }

    /** Returns true if a DOUBLE, or with `single` a FLOAT, holds the number; white space around it is left out. */
    static boolean fitsFloating(String given, boolean single) {
        String text = given.strip();
        int begin = !text.isEmpty() && (text.charAt(0) == '-' || text.charAt(0) == '+') ? 1 : 0;
        if (text.length() == begin || (text.charAt(begin) != '.' && !isDigit(text.charAt(begin)))) {
            return true;
        }
        try {
            if (isWhole(text, begin)) {
                return text.length() <= LONGEST && isExact(new BigInteger(text), single);
            }
            double nearest = single ? Float.parseFloat(text) : Double.parseDouble(text);
            return !Double.isInfinite(nearest) && (nearest != 0 || isZero(text));
        } catch (NumberFormatException noNumber) {
            return true;
        }
    }

    private static boolean isExact(BigInteger number, boolean single) {
        double nearest = single ? number.floatValue() : number.doubleValue();
        return !Double.isInfinite(nearest) && new BigDecimal(nearest).toBigInteger().equals(number);
    }

    /**
     * Returns true if a number keeps its value as the text of a double, which Spark's JSON parser makes of a number
     * with a fraction or an exponent where text is due.
     */
    static boolean keepsValueAsDouble(String text) {
        try {
            double nearest = Double.parseDouble(text);
            boolean isNumber = isDigit(text.charAt(text.charAt(0) == '-' ? 1 : 0));
            return !isNumber || (!Double.isInfinite(nearest)
                && new BigDecimal(text).compareTo(new BigDecimal(Double.toString(nearest))) == 0);
        } catch (NumberFormatException noNumber) {
            return true;
        }
    }

    /**
     * Returns true if a DATE holds the text: Spark leaves out what follows the day, so that must be midnight in UTC.
     */
    static boolean fitsDate(String given) {
        String text = given.strip();
        int day = 0;
        while (day < text.length() && text.charAt(day) != 'T' && text.charAt(day) != ' ') {
            day++;
        }
        boolean alone = day == text.length() || !DAY.matcher(text.substring(0, day)).matches();
        return alone || MIDNIGHT.matcher(text.substring(day)).matches();
    }

    /** Returns true if bytes, decoded from this text, give the text again: no bits beyond the last byte are set. */
    static boolean fitsBase64(String text, byte[] bytes) {
        String again = Base64.getEncoder().withoutPadding().encodeToString(bytes);
        return again.equals(text.replaceAll("[\\s=]", ""));
    }

    /** Returns true if UTF-8 has every character: half of a surrogate pair would become a question mark. */
    static boolean fitsUtf8(String text) {
        for (int at = 0; at < text.length(); at++) {
            char each = text.charAt(at);
            boolean paired = Character.isHighSurrogate(each) && at + 1 < text.length()
                && Character.isLowSurrogate(text.charAt(at + 1));
            if (paired) {
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

    /** Returns true if every digit before an exponent is 0. */
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
