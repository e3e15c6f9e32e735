// Fingerprint: hashes of the rows of a tensor, eight bytes each, that stay the same for ever.
#include "base/fingerprint.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"

#include <endian.h>
#include <string.h>

static bool is_farmhash(const braid_tensor *method)
{
    static const char name[] = "farmhash64";
    if (method->shape.rank != 0) return false;
    const bd_string *s = bd_tensor_str(method);
    return s->len == sizeof name - 1 && memcmp(s->data, name, s->len) == 0;
}

static braid_code fingerprint_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *x = &c->inputs[0];
    const braid_tensor *method = bd_shape_ctx_constant(c, 1);
    if (x->rank == 0) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    braid_code code = bd_shape_ctx_rank(c, 1, 0, st);
    if (code) return code;
    if (method && !is_farmhash(method))
        return bd_shape_ctx_fail(c, st, "Unsupported method: it must be farmhash64");
    c->outputs[0] = bd_shape2(x->rank > 0 ? x->dims[0] : -1, method ? 8 : -1);
    return BRAID_OK;
}

static void put(const braid_tensor *y, int64_t row, uint64_t fingerprint)
{
    fingerprint = htole64(fingerprint);
    memcpy((char *)y->data + row * 8, &fingerprint, 8);
}

// Of a row of several strings: that of their fingerprints, one after the other.
static uint64_t of_strings(const bd_string *s, int64_t count, uint64_t *work)
{
    if (count == 1) return bd_fingerprint64(s->data, s->len);
    for (int64_t i = 0; i < count && !bd_interrupted_at(i); i++)
        work[i] = htole64(bd_fingerprint64(s[i].data, s[i].len));
    return bd_fingerprint64(work, (size_t)count * sizeof *work);
}

static void fingerprint_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    if (x->shape.rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`data` must have at least one dimension.");
        return;
    }
    if (!is_farmhash(bd_input(c, 1))) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Unsupported fingerprint method: it must be farmhash64");
        return;
    }
    int64_t rows = x->shape.dims[0], len = bd_shape_count_range(&x->shape, 1, x->shape.rank);
    braid_shape shape = bd_shape2(rows, 8), vector = bd_shape1(len);
    braid_tensor *y = bd_output(c, 0, BRAID_UINT8, &shape), work = {0};
    if (!y) return;
    if (x->dtype == BRAID_STRING && !bd_tensor_alloc(&work, BRAID_UINT64, &vector)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when hashing rows of %lld strings", (long long)len);
        return;
    }
    size_t bytes = (size_t)len * braid_dtype_size(x->dtype);
    for (int64_t r = 0; r < rows && !bd_interrupted_at(r); r++)
        put(y, r,
            x->dtype == BRAID_STRING ? of_strings(bd_tensor_str(x) + r * len, len, work.data)
                                     : bd_fingerprint64((const char *)x->data + (size_t)r * bytes, bytes));
    bd_tensor_fini(&work);
}

BD_OP(Fingerprint) = {
    .signature = "(data: T, method: string) -> (fingerprint: uint8)",
    .attrs = "T:type",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = fingerprint_shape,
    .kernels =
        BD_KERNELS({.types = "T=float|double|int8|int16|int32|int64|uint8|uint16|uint32|uint64|bool|half|"
                             "bfloat16|complex64|complex128|string",
                    .run = fingerprint_run}),
    .doc = "The fingerprints of the rows of a tensor, each as eight bytes, by method \"farmhash64\".",
};
