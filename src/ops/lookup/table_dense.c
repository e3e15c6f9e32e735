// The buckets of a dense table, as exports and checkpoints show them.
//
// TensorFlow keeps a MutableDenseHashTable in arrays of buckets and exports the arrays: a row for each
// bucket, with the empty key in free ones. Braid keeps rows (see table.h) and computes the buckets for an
// export.
#include "ops/lookup/table_dense.h"

#include "base/fingerprint.h"
#include "ops/common/element.h"
#include <string.h>

#define BUCKETS_MIN 4
#define BUCKETS_MAX ((int64_t)1 << 40)

braid_code bd_dense_check(int64_t buckets, double max_load, braid_status *st)
{
    if (!(max_load > 0 && max_load < 1))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "max_load_factor must be between 0 and 1, got: %g",
                       max_load);
    if (buckets < BUCKETS_MIN || buckets > BUCKETS_MAX || (buckets & (buckets - 1)) != 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Number of buckets must be at least 4 and a power of 2, got: %lld",
                       (long long)buckets);
    return BRAID_OK;
}

int64_t bd_dense_buckets_for(int64_t buckets, double max_load, int64_t rows)
{
    while ((double)rows > (double)buckets * max_load && buckets < BUCKETS_MAX)
        buckets *= 2;
    return buckets;
}

int64_t bd_dense_buckets_of_import(double max_load, int64_t buckets, int64_t rows)
{
    int64_t power = BUCKETS_MIN;
    while (power < buckets)
        power *= 2;
    return bd_dense_buckets_for(power, max_load, rows);
}

// ---- Where a key belongs ----

static uint64_t hash_element(const braid_tensor *keys, int64_t i)
{
    switch (keys->dtype) {
    case BRAID_STRING: {
        const bd_string *s = &bd_tensor_str(keys)[i];
        return bd_hash64(s->len ? s->data : "", s->len, BD_HASH64_SEED);
    }
    case BRAID_INT32: return (uint64_t)bd_tensor_i32(keys)[i];
    default: return (uint64_t)bd_tensor_i64(keys)[i];
    }
}

static uint64_t hash_combine(uint64_t a, uint64_t b)
{
    return a ^ (b + 0x9e3779b97f4a7800ull + (a << 10) + (a >> 4));
}

static uint64_t hash_key(const braid_tensor *keys, int64_t row, int64_t size)
{
    if (size == 1) return hash_element(keys, row);
    uint64_t hash = 0;
    for (int64_t i = 0; i < size; i++)
        hash = hash_combine(hash, hash_element(keys, row * size + i));
    return hash;
}

static bool is_empty_bucket(const bd_table *t, const braid_tensor *keys, int64_t bucket, int64_t size)
{
    for (int64_t i = 0; i < size; i++)
        if (!bd_table_same_element(keys, bucket * size + i, &t->options.empty_key, i)) return false;
    return true;
}

// Quadratic probing: there are more buckets than rows, so a free one is found.
static int64_t find_bucket(const bd_table *t, const braid_tensor *keys, int64_t row, int64_t size)
{
    const int64_t mask = t->buckets - 1;
    int64_t bucket = (int64_t)(hash_key(&t->keys, row, size) & (uint64_t)mask);
    for (int64_t probes = 1; !is_empty_bucket(t, keys, bucket, size); probes++)
        bucket = (bucket + probes) & mask;
    return bucket;
}

void bd_dense_lay_out(const bd_table *t, const braid_tensor *keys, const braid_tensor *values)
{
    const int64_t key_size = bd_table_key_size(t), value_size = bd_table_value_size(t);
    for (int64_t i = 0; i < t->buckets; i++)
        bd_elements_copy(keys, i * key_size, &t->options.empty_key, 0, key_size);
    if (values->dtype != BRAID_STRING) memset(values->data, 0, bd_tensor_bytes(values));
    for (int64_t row = 0; row < t->count; row++) {
        const int64_t bucket = find_bucket(t, keys, row, key_size);
        bd_elements_copy(keys, bucket * key_size, &t->keys, row * key_size, key_size);
        bd_elements_copy(values, bucket * value_size, &t->values, row * value_size, value_size);
    }
}
