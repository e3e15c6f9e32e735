// DecodeRaw, DecodePaddedRaw and DecodeCompressed: strings as the bytes of numbers, and the content of
// compressed strings.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "io/compression.h"
#include "ops/common/element.h"
#include "ops/common/string_out.h"

#include <string.h>

// ---- DecodeRaw, DecodePaddedRaw ----

// Reverses the bytes of each number; a complex number is two.
static void swap_bytes(uint8_t *data, size_t bytes, braid_dtype dtype)
{
    size_t size = braid_dtype_size(dtype);
    if (dtype == BRAID_COMPLEX64 || dtype == BRAID_COMPLEX128) size /= 2;
    for (size_t at = 0; size > 1 && at < bytes; at += size) {
        for (size_t i = 0; i < size / 2; i++) {
            uint8_t byte = data[at + i];
            data[at + i] = data[at + size - 1 - i];
            data[at + size - 1 - i] = byte;
        }
    }
}

// Output 0: a row of `width` elements for each string, filled up with zeros.
static void output_rows(bd_op_ctx *c, int64_t width)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_dtype dtype = bd_node_attr_type(c->node, "out_type");
    braid_shape shape = x->shape;
    int64_t total;
    BD_STATUS(st);
    if (shape.rank == BRAID_RANK_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Strings of %d dimensions are too many: the output has one more", shape.rank);
        return;
    }
    shape.dims[shape.rank++] = width;
    if (bd_shape_checked_count(&shape, &total, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_tensor *y = bd_output(c, 0, dtype, &shape);
    size_t row = (size_t)width * braid_dtype_size(dtype);
    for (int64_t i = 0; y && row > 0 && i < bd_tensor_count(x) && !bd_interrupted_at(i); i++) {
        const bd_string *s = &bd_tensor_str(x)[i];
        uint8_t *to = (uint8_t *)y->data + (size_t)i * row;
        size_t len = s->len < row ? s->len : row;
        if (len > 0) memcpy(to, s->data, len);
        memset(to + len, 0, row - len);
        // Any byte other than 0 is true: tensors of booleans hold only 0 and 1.
        for (size_t k = 0; dtype == BRAID_BOOL && k < row; k++)
            to[k] = to[k] != 0;
    }
    if (y && !bd_node_attr_bool(c->node, "little_endian")) swap_bytes(y->data, bd_tensor_bytes(y), dtype);
}

static void raw_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_dtype dtype = bd_node_attr_type(c->node, "out_type");
    int64_t count = bd_tensor_count(x), size = (int64_t)braid_dtype_size(dtype);
    int64_t len = count > 0 ? (int64_t)bd_tensor_str(x)[0].len : 0;
    for (int64_t i = 1; i < count; i++) {
        if ((int64_t)bd_tensor_str(x)[i].len == len) continue;
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "DecodeRaw requires input strings to all be the same size, but element %lld has size %lld != %zu",
            (long long)i, (long long)len, bd_tensor_str(x)[i].len);
        return;
    }
    if (len % size != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Input to DecodeRaw has length %lld that is not a multiple of %lld, the size of %s",
                   (long long)len, (long long)size, braid_dtype_name(dtype));
        return;
    }
    output_rows(c, len / size);
}

static braid_code raw_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape *out = &c->outputs[0];
    *out = c->inputs[0];
    if (out->rank < 0) return BRAID_OK;
    if (out->rank == BRAID_RANK_MAX)
        return bd_shape_ctx_fail(c, st, "The output has more than %d dimensions", out->rank);
    out->dims[out->rank++] = -1;
    return BRAID_OK;
}

BD_OP(DecodeRaw) = {
    .signature = "(bytes: string) -> (output: out_type)",
    .attrs =
        "out_type:type{bool,complex128,complex64,double,float,half,int16,int32,int64,int8,uint16,uint8}; "
        "little_endian:bool=true",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = raw_shape,
    .kernels = BD_KERNELS({.run = raw_run}),
    .doc = "Strings of one length as the bytes of numbers, along a new last dimension.",
};

// The element count of a padded row, or -1 with the reason.
static int64_t padded_width(int64_t len, braid_dtype dtype, braid_status *st)
{
    int64_t size = (int64_t)braid_dtype_size(dtype);
    if (len % size != 0)
        bd_fail(st, BRAID_INVALID_ARGUMENT,
                "fixed_length (%lld) must be a multiple of the size of out_type (%lld)", (long long)len,
                (long long)size);
    else if (len <= 0)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "fixed_length (%lld) must be greater than zero.", (long long)len);
    return st->code ? -1 : len / size;
}

static void padded_run(bd_op_ctx *c)
{
    const braid_tensor *len = bd_input(c, 1);
    BD_STATUS(st);
    if (len->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "k must be scalar, got shape %s",
                   bd_shape_str(&len->shape, (char[BD_SHAPE_STR_MAX]){0}));
        return;
    }
    int64_t width = padded_width(bd_tensor_i32(len)[0], bd_node_attr_type(c->node, "out_type"), st);
    if (width < 0)
        bd_op_fail_status(c, st);
    else
        output_rows(c, width);
}

static braid_code padded_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = raw_shape(c, st);
    int64_t len;
    if (code || c->outputs[0].rank < 0 || !bd_shape_ctx_constant_int(c, 1, &len)) return code;
    BD_STATUS(why);
    int64_t width = padded_width(len, bd_node_attr_type(c->node, "out_type"), why);
    if (width < 0) return bd_shape_ctx_fail(c, st, "%s", why->message);
    c->outputs[0].dims[c->outputs[0].rank - 1] = width;
    return BRAID_OK;
}

BD_OP(DecodePaddedRaw) = {
    .signature = "(input_bytes: string, fixed_length: int32) -> (output: out_type)",
    .attrs = "out_type:type{double,float,half,int16,int32,int64,int8,uint16,uint8}; little_endian:bool=true",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = padded_shape,
    .kernels = BD_KERNELS({.run = padded_run}),
    .doc =
        "The first `fixed_length` bytes of strings as numbers, along a new last dimension; short strings are filled up with zeros.",
};

// ---- DecodeCompressed ----

// No string gets longer: TensorFlow's own limit.
#define INFLATED_MAX ((size_t)INT32_MAX)

typedef struct inflated {
    uint8_t *data;
    size_t len, cap;
} inflated;

// Makes room for more. Returns false when memory is short.
static bool grow(bd_op_ctx *c, inflated *out)
{
    size_t cap = out->cap ? out->cap * 2 : 4096;
    if (cap > INFLATED_MAX) cap = INFLATED_MAX;
    uint8_t *data = out->cap < INFLATED_MAX ? bd_try_realloc(out->data, cap) : NULL;
    if (!data) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when decompressing a string beyond %zu bytes", out->cap);
        return false;
    }
    out->data = data;
    out->cap = cap;
    return true;
}

// Inflates the input; a truncated string gives its part, as in TensorFlow.
static void inflate_all(bd_op_ctx *c, z_stream *z, bool many, inflated *out)
{
    for (;;) {
        if (out->len == out->cap && !grow(c, out)) return;
        z->next_out = out->data + out->len;
        z->avail_out = (uInt)(out->cap - out->len);
        int rc = inflate(z, Z_NO_FLUSH);
        out->len = out->cap - z->avail_out;
        if (rc == Z_STREAM_END && many && z->avail_in > 0)
            rc = inflateReset(z); // another member of a gzip file
        else if (rc == Z_STREAM_END || (rc == Z_BUF_ERROR && z->avail_out > 0))
            return;
        if (rc == Z_OK || rc == Z_BUF_ERROR) {
            if (z->avail_in == 0 && z->avail_out > 0) return;
            continue;
        }
        bd_op_fail(c, rc == Z_MEM_ERROR ? BRAID_RESOURCE_EXHAUSTED : BRAID_DATA_LOSS,
                   "inflate() failed with error %d: %s", rc,
                   z->msg ? z->msg : "the string is no compressed one");
        return;
    }
}

static void decompress(bd_op_ctx *c, const braid_tensor *y, int64_t i, const bd_string *s,
                       bd_compression kind)
{
    inflated out = {0};
    if (s->len > INFLATED_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "A compressed string of %zu bytes is longer than %zu", s->len,
                   INFLATED_MAX);
        return;
    }
    z_stream *z = bd_zlib_stream_new();
    z->next_in = (Bytef *)s->data;
    z->avail_in = (uInt)s->len;
    if (inflateInit2(z, bd_compression_window_bits(kind)) == Z_OK) {
        if (s->len > 0) inflate_all(c, z, kind == BD_COMPRESSION_GZIP, &out);
        inflateEnd(z);
    } else {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when beginning to decompress a string");
    }
    if (!bd_op_failed(c)) bd_string_put(c, y, i, out.data, out.len);
    bd_free(out.data);
    bd_zlib_stream_free(z);
}

typedef struct decompress_state {
    bd_compression kind;
} decompress_state;

static braid_code decompress_create(const braid_op *node, void *state, braid_status *st)
{
    BD_STATUS(ignored);
    const char *word = bd_node_attr_string(node, "compression_type");
    if (!bd_compression_parse(word, &((decompress_state *)state)->kind, ignored)) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Only ZLIB, GZIP or NONE are supported compressions, not '%s'",
                   word);
}

static void decompress_run(bd_op_ctx *c)
{
    const decompress_state *s = c->state;
    const braid_tensor *x = bd_input(c, 0);
    if (s->kind == BD_COMPRESSION_NONE) {
        bd_output_set(c, 0, x);
        return;
    }
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &x->shape);
    for (int64_t i = 0; y && i < bd_tensor_count(x) && !bd_op_failed(c) && !bd_interrupted_at(i); i++)
        decompress(c, y, i, &bd_tensor_str(x)[i], s->kind);
}

BD_OP(DecodeCompressed) = {
    .signature = "(bytes: string) -> (output: string)",
    .attrs = "compression_type:string=''",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(decompress_state),
                           .create = decompress_create,
                           .run = decompress_run}),
    .doc = "Decompresses each string: `compression_type` is ZLIB, GZIP or empty for none.",
};
