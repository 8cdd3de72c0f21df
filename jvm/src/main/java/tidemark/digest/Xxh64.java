package tidemark.digest;

import org.apache.spark.unsafe.Platform;

/** XXH64, the well-known hash of bytes, as its specification has it, with two seeds at a time. */
final class Xxh64 {
    private static final long PRIME1 = 0x9E3779B185EBCA87L;
    private static final long PRIME2 = 0xC2B2AE3D27D4EB4FL;
    private static final long PRIME3 = 0x165667B19E3779F9L;
    private static final long PRIME4 = 0x85EBCA77C2B2AE63L;
    private static final long PRIME5 = 0x27D4EB2F165667C5L;
    private static final int STRIPE = 32;

    private Xxh64() {
    }

    /**
     * Puts the hashes of the first `length` bytes, one for each seed, in the place of the seeds. Numbers are read with
     * their lowest byte first.
     */
    static void hash(byte[] bytes, int length, long[] seeds) {
        long at = Platform.BYTE_ARRAY_OFFSET;
        long end = at + length;
        if (length >= STRIPE) {
            long stripes = end - length % STRIPE;
            striped(bytes, at, stripes, seeds);
            at = stripes;
        } else {
            seeds[0] += PRIME5;
            seeds[1] += PRIME5;
        }
        seeds[0] += length;
        seeds[1] += length;
        tail(bytes, at, end, seeds);
    }

    private static void striped(byte[] bytes, long from, long end, long[] seeds) {
        long a1 = seeds[0] + PRIME1 + PRIME2;
        long a2 = seeds[0] + PRIME2;
        long a3 = seeds[0];
        long a4 = seeds[0] - PRIME1;
        long b1 = seeds[1] + PRIME1 + PRIME2;
        long b2 = seeds[1] + PRIME2;
        long b3 = seeds[1];
        long b4 = seeds[1] - PRIME1;
        for (long at = from; at < end; at += STRIPE) {
            long read = Platform.getLong(bytes, at) * PRIME2;
            a1 = turned(a1 + read);
            b1 = turned(b1 + read);
            read = Platform.getLong(bytes, at + 8) * PRIME2;
            a2 = turned(a2 + read);
            b2 = turned(b2 + read);
            read = Platform.getLong(bytes, at + 16) * PRIME2;
            a3 = turned(a3 + read);
            b3 = turned(b3 + read);
            read = Platform.getLong(bytes, at + 24) * PRIME2;
            a4 = turned(a4 + read);
            b4 = turned(b4 + read);
        }
        seeds[0] = merged(a1, a2, a3, a4);
        seeds[1] = merged(b1, b2, b3, b4);
    }

    /** Each step waits for the one before it; those of the other seed fill the time. */
    private static void tail(byte[] bytes, long from, long end, long[] hashes) {
        long at = from;
        long first = hashes[0];
        long second = hashes[1];
        for (; at <= end - 8; at += 8) {
            long read = turned(Platform.getLong(bytes, at) * PRIME2);
            first = Long.rotateLeft(first ^ read, 27) * PRIME1 + PRIME4;
            second = Long.rotateLeft(second ^ read, 27) * PRIME1 + PRIME4;
        }
        if (at <= end - 4) {
            long read = (Platform.getInt(bytes, at) & 0xFFFFFFFFL) * PRIME1;
            first = Long.rotateLeft(first ^ read, 23) * PRIME2 + PRIME3;
            second = Long.rotateLeft(second ^ read, 23) * PRIME2 + PRIME3;
            at += 4;
        }
        for (; at < end; at++) {
            long read = (Platform.getByte(bytes, at) & 0xFFL) * PRIME5;
            first = Long.rotateLeft(first ^ read, 11) * PRIME1;
            second = Long.rotateLeft(second ^ read, 11) * PRIME1;
        }
        hashes[0] = ended(first);
        hashes[1] = ended(second);
    }

    private static long turned(long sum) {
        return Long.rotateLeft(sum, 31) * PRIME1;
    }

    private static long merged(long one, long two, long three, long four) {
        long hash = Long.rotateLeft(one, 1) + Long.rotateLeft(two, 7)
            + Long.rotateLeft(three, 12) + Long.rotateLeft(four, 18);
        return merged(merged(merged(merged(hash, one), two), three), four);
    }

    private static long merged(long hash, long sum) {
        return (hash ^ turned(sum * PRIME2)) * PRIME1 + PRIME4;
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
