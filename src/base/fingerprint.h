// Hashes of bytes that other programs must agree on: the same for ever, on every machine. Not for hash tables
// (see map.h).
#ifndef BD_BASE_FINGERPRINT_H
#define BD_BASE_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

// FarmHash's Fingerprint64: what StringToHashBucketFast, Fingerprint and SparseCross take.
uint64_t bd_fingerprint64(const void *data, size_t len);

// The fingerprint of a sequence: of what stands before, and of the next one (TensorFlow's FingerprintCat64).
uint64_t bd_fingerprint_cat64(uint64_t before, uint64_t next);

// MurmurHash64A. TensorFlow's Hash64 without a seed of its own takes BD_HASH64_SEED: what StringToHashBucket
// takes.
#define BD_HASH64_SEED 0xDECAFCAFFEull
uint64_t bd_hash64(const void *data, size_t len, uint64_t seed);

// SipHash-2-4: nobody without the key can make texts collide.
uint64_t bd_siphash(const void *data, size_t len, const uint64_t key[2]);

#endif
