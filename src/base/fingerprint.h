// Hashes of bytes that other programs must agree on: the same for ever, on every machine. Not for hash tables
// (see map.h).
#ifndef BD_BASE_FINGERPRINT_H
#define BD_BASE_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

// FarmHash's Fingerprint64, for StringToHashBucketFast, Fingerprint and SparseCross.
uint64_t bd_fingerprint64(const void *data, size_t len);

// FarmHash's Fingerprint128 (CityHash128), for SdcaFprint: the lower half, then the higher one.
void bd_fingerprint128(const void *data, size_t len, uint64_t halves[2]);

// The fingerprint of a sequence, from the fingerprint of its beginning and that of the next element
// (TensorFlow's FingerprintCat64).
uint64_t bd_fingerprint_cat64(uint64_t before, uint64_t next);

// MurmurHash64A. The seed of TensorFlow's Hash64, for StringToHashBucket.
#define BD_HASH64_SEED 0xDECAFCAFFEull
uint64_t bd_hash64(const void *data, size_t len, uint64_t seed);

// SipHash-2-4: collisions cannot be constructed without the key.
uint64_t bd_siphash(const void *data, size_t len, const uint64_t key[2]);

#endif
