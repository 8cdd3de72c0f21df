package tidemark.digest;

import org.apache.spark.unsafe.Platform;

/** The XXH64 hash of bytes, as its specification defines it, for two seeds in one pass. */
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
     * Replaces two seeds by the hashes for them. The bytes are read as numbers with their lowest byte first.
     *
     * @param length the number of bytes from the start of the array that are hashed
     * @param seeds two seeds, replaced by their hashes
     */
    static void hash(byte[] bytes, int length, long[] seeds) {
        long at = Platform.BYTE_ARRAY_OFFSET;
        long end = at + length;
        if (length >= STRIPE) {
            long lastStripe = end - length % STRIPE;
            hashStripes(bytes, at, lastStripe, seeds);
            at = lastStripe;
        } else {
            seeds[0] += PRIME5;
            seeds[1] += PRIME5;
        }
        seeds[0] += length;
        seeds[1] += length;
        hashRest(bytes, at, end, seeds);
    }

    private static void hashStripes(byte[] bytes, long from, long end, long[] seeds) {
        long a1 = seeds[0] + PRIME1 + PRIME2;
        long a2 = seeds[0] + PRIME2;
        long a3 = seeds[0];
        long a4 = seeds[0] - PRIME1;
        long b1 = seeds[1] + PRIME1 + PRIME2;
        long b2 = seeds[1] + PRIME2;
        long b3 = seeds[1];
        long b4 = seeds[1] - PRIME1;
        for (long at = from; at < end; at += STRIPE) {
            long lane = Platform.getLong(bytes, at) * PRIME2;
            a1 = rotate(a1 + lane);
            b1 = rotate(b1 + lane);
            lane = Platform.getLong(bytes, at + 8) * PRIME2;
            a2 = rotate(a2 + lane);
            b2 = rotate(b2 + lane);
            lane = Platform.getLong(bytes, at + 16) * PRIME2;
            a3 = rotate(a3 + lane);
            b3 = rotate(b3 + lane);
            lane = Platform.getLong(bytes, at + 24) * PRIME2;
            a4 = rotate(a4 + lane);
            b4 = rotate(b4 + lane);
        }
        seeds[0] = converge(a1, a2, a3, a4);
        seeds[1] = converge(b1, b2, b3, b4);
    }

    /**
     * Hashes the bytes after the last stripe. Each step waits for the one before it; those of the other seed fill the
     * time.
     */
    private static void hashRest(byte[] bytes, long from, long end, long[] hashes) {
        long at = from;
        long first = hashes[0];
        long second = hashes[1];
        for (; at <= end - 8; at += 8) {
            long lane = rotate(Platform.getLong(bytes, at) * PRIME2);
            first = Long.rotateLeft(first ^ lane, 27) * PRIME1 + PRIME4;
            second = Long.rotateLeft(second ^ lane, 27) * PRIME1 + PRIME4;
        }
        if (at <= end - 4) {
            long lane = (Platform.getInt(bytes, at) & 0xFFFFFFFFL) * PRIME1;
            first = Long.rotateLeft(first ^ lane, 23) * PRIME2 + PRIME3;
            second = Long.rotateLeft(second ^ lane, 23) * PRIME2 + PRIME3;
            at += 4;
        }
        for (; at < end; at++) {
            long lane = (Platform.getByte(bytes, at) & 0xFFL) * PRIME5;
            first = Long.rotateLeft(first ^ lane, 11) * PRIME1;
            second = Long.rotateLeft(second ^ lane, 11) * PRIME1;
        }
        hashes[0] = avalanche(first);
        hashes[1] = avalanche(second);
    }

    private static long rotate(long sum) {
        return Long.rotateLeft(sum, 31) * PRIME1;
    }

    private static long converge(long one, long two, long three, long four) {
        long hash = Long.rotateLeft(one, 1) + Long.rotateLeft(two, 7)
            + Long.rotateLeft(three, 12) + Long.rotateLeft(four, 18);
        return merge(merge(merge(merge(hash, one), two), three), four);
    }

    private static long merge(long hash, long accumulator) {
        return (hash ^ rotate(accumulator * PRIME2)) * PRIME1 + PRIME4;
    }

    private static long avalanche(long accumulator) {
        long hash = accumulator;
        hash ^= hash >>> 33;
        hash *= PRIME2;
        hash ^= hash >>> 29;
        hash *= PRIME3;
        return hash ^ (hash >>> 32);
    }
}
