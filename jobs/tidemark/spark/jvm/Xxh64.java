package tidemark;

import org.apache.spark.unsafe.Platform;

/** XXH64, the well-known hash of bytes, as its specification has it. */
final class Xxh64 {
    private static final long PRIME1 = 0x9E3779B185EBCA87L;
    private static final long PRIME2 = 0xC2B2AE3D27D4EB4FL;
    private static final long PRIME3 = 0x165667B19E3779F9L;
    private static final long PRIME4 = 0x85EBCA77C2B2AE63L;
    private static final long PRIME5 = 0x27D4EB2F165667C5L;
    private static final int STRIPE = 32;

    private Xxh64() {
    }

    /** The hash of the first `length` bytes; numbers are read with their lowest byte first. */
    static long hash(byte[] bytes, int length, long seed) {
        long at = Platform.BYTE_ARRAY_OFFSET;
        long end = at + length;
        long hash = seed + PRIME5;
        if (length >= STRIPE) {
            long one = seed + PRIME1 + PRIME2;
            long two = seed + PRIME2;
            long three = seed;
            long four = seed - PRIME1;
            for (; at <= end - STRIPE; at += STRIPE) {
                one = round(one, Platform.getLong(bytes, at));
                two = round(two, Platform.getLong(bytes, at + 8));
                three = round(three, Platform.getLong(bytes, at + 16));
                four = round(four, Platform.getLong(bytes, at + 24));
            }
            hash = Long.rotateLeft(one, 1) + Long.rotateLeft(two, 7)
                + Long.rotateLeft(three, 12) + Long.rotateLeft(four, 18);
            hash = merged(merged(merged(merged(hash, one), two), three), four);
        }
        return ended(tail(bytes, at, end, hash + length));
    }

    private static long tail(byte[] bytes, long from, long end, long begun) {
        long at = from;
        long hash = begun;
        for (; at <= end - 8; at += 8) {
            hash ^= round(0L, Platform.getLong(bytes, at));
            hash = Long.rotateLeft(hash, 27) * PRIME1 + PRIME4;
        }
        if (at <= end - 4) {
            hash ^= (Platform.getInt(bytes, at) & 0xFFFFFFFFL) * PRIME1;
            hash = Long.rotateLeft(hash, 23) * PRIME2 + PRIME3;
            at += 4;
        }
        for (; at < end; at++) {
            hash ^= (Platform.getByte(bytes, at) & 0xFFL) * PRIME5;
            hash = Long.rotateLeft(hash, 11) * PRIME1;
        }
        return hash;
    }

    private static long round(long sum, long input) {
        return Long.rotateLeft(sum + input * PRIME2, 31) * PRIME1;
    }

    private static long merged(long hash, long sum) {
        return (hash ^ round(0L, sum)) * PRIME1 + PRIME4;
    }

    private static long ended(long begun) {
        long hash = begun;
        hash ^= hash >>> 33;
        hash *= PRIME2;
        hash ^= hash >>> 29;
        hash *= PRIME3;
        return hash ^ (hash >>> 32);
    }
}
