// Hashes of strings, by which words become numbers: StringToHashBucket and its fast and its strong form.
#include "base/fingerprint.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"

typedef struct hash_state {
    uint64_t bucket_count;
    uint64_t key[2]; // of the strong form
} hash_state;

static braid_code hash_create(const braid_op *node, void *state, braid_status *st)
{
    hash_state *s = state;
    (void)st;
    s->bucket_count = (uint64_t)bd_node_attr_int(node, "num_buckets");
    return BRAID_OK;
}

static braid_code strong_create(const braid_op *node, void *state, braid_status *st)
{
    hash_state *s = state;
    const bd_attr *key = bd_node_attr(node, "key");
    if (key->list.count != 2) return bd_fail(st, BRAID_INVALID_ARGUMENT, "Key must have 2 elements");
    s->key[0] = (uint64_t)key->list.i[0];
    s->key[1] = (uint64_t)key->list.i[1];
    return hash_create(node, state, st);
}

static uint64_t hash_fast(const hash_state *s, const bd_string *x)
{
    (void)s;
    return bd_fingerprint64(x->data, x->len);
}

static uint64_t hash_strong(const hash_state *s, const bd_string *x)
{
    return bd_siphash(x->data, x->len, s->key);
}

static uint64_t hash_legacy(const hash_state *s, const bd_string *x)
{
    (void)s;
    return bd_hash64(x->data, x->len, BD_HASH64_SEED);
}

static void hash_all(bd_op_ctx *c, uint64_t (*hash)(const hash_state *s, const bd_string *x))
{
    const hash_state *s = c->state;
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor *y = bd_output(c, 0, BRAID_INT64, &x->shape);
    for (int64_t i = 0; y && i < bd_tensor_count(x) && !bd_interrupted_at(i); i++)
        bd_tensor_i64(y)[i] = (int64_t)(hash(s, &bd_tensor_str(x)[i]) % s->bucket_count);
}

static void fast_run(bd_op_ctx *c)
{
    hash_all(c, hash_fast);
}

static void strong_run(bd_op_ctx *c)
{
    hash_all(c, hash_strong);
}

static void legacy_run(bd_op_ctx *c)
{
    hash_all(c, hash_legacy);
}

BD_OP(StringToHashBucketFast) = {
    .signature = "(input: string) -> (output: int64)",
    .attrs = "num_buckets:int>=1",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.state_size = sizeof(hash_state), .create = hash_create, .run = fast_run}),
    .doc = "The bucket of each string by FarmHash's Fingerprint64, modulo the number of buckets.",
};

BD_OP(StringToHashBucketStrong) = {
    .signature = "(input: string) -> (output: int64)",
    .attrs = "num_buckets:int>=1; key:list(int)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.state_size = sizeof(hash_state), .create = strong_create, .run = strong_run}),
    .doc =
        "The bucket of each string by SipHash under a key of two numbers, without which an attacker cannot fill one bucket.",
};

BD_OP(StringToHashBucket) = {
    .signature = "(string_tensor: string) -> (output: int64)",
    .attrs = "num_buckets:int>=1",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.state_size = sizeof(hash_state), .create = hash_create, .run = legacy_run}),
    .doc = "The bucket of each string by the hash of TensorFlow's first release.",
};
