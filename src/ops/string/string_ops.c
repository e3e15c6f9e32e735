// Ops on strings: joining, file names of shards, numbers as text and text as numbers.
#include "base/alloc.h"
#include "base/half.h"
#include "base/interrupt.h"
#include "base/strbuf.h"
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "ops/common/string_out.h"
#include "ops/common/text_number.h"

#include <stdio.h>
#include <string.h>

// ---- StringJoin ----

// Scalars are joined to each element of the others, which have one shape.
static braid_code join_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape out = BD_SCALAR;
    bool is_unknown = false;
    for (int i = 0; i < c->input_count; i++) {
        braid_shape so_far = out;
        if (c->inputs[i].rank < 0) is_unknown = true;
        if (c->inputs[i].rank <= 0) continue;
        if (so_far.rank == 0) {
            out = c->inputs[i];
        } else if (!bd_shape_merge(&so_far, &c->inputs[i], &out)) {
            char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
            return bd_shape_ctx_fail(c, st, "Input shapes do not match: %s vs. %s", bd_shape_str(&so_far, a),
                                     bd_shape_str(&c->inputs[i], b));
        }
    }
    c->outputs[0] = is_unknown ? BD_SHAPE_UNKNOWN : out;
    return BRAID_OK;
}

static bool joined_shape(bd_op_ctx *c, braid_shape *out)
{
    *out = BD_SCALAR;
    for (int i = 0; i < c->input_count; i++) {
        const braid_shape *s = &bd_input(c, i)->shape;
        if (s->rank == 0) continue;
        if (out->rank != 0 && !bd_shape_equal(out, s)) {
            char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input shapes do not match: %s vs. %s",
                       bd_shape_str(out, a), bd_shape_str(s, b));
            return false;
        }
        *out = *s;
    }
    return true;
}

static const bd_string *joined_string(const bd_op_ctx *c, int input, int64_t k)
{
    const braid_tensor *x = bd_input(c, input);
    return &bd_tensor_str(x)[x->shape.rank == 0 ? 0 : k];
}

static bool join_element(bd_op_ctx *c, const braid_tensor *y, int64_t k)
{
    const bd_bytes *separator = &bd_node_attr(c->node, "separator")->s;
    size_t len = (size_t)(c->input_count - 1) * separator->len;
    for (int i = 0; i < c->input_count; i++)
        len += joined_string(c, i, k)->len;
    char *out = bd_string_room(c, y, k, len);
    for (int i = 0; out && i < c->input_count; i++) {
        const bd_string *s = joined_string(c, i, k);
        if (i > 0) out = mempcpy(out, separator->data, separator->len);
        if (s->len > 0) out = mempcpy(out, s->data, s->len);
    }
    return out != NULL;
}

static void join_run(bd_op_ctx *c)
{
    braid_shape shape;
    if (!joined_shape(c, &shape)) return;
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &shape);
    if (!y) return;
    for (int64_t k = 0; k < bd_tensor_count(y) && !bd_interrupted_at(k); k++)
        if (!join_element(c, y, k)) return;
}

BD_OP(StringJoin) = {
    .signature = "(inputs: N*string) -> (output: string)",
    .attrs = "N:int>=1; separator:string=''",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = join_shape,
    .kernels = BD_KERNELS({.run = join_run}),
    .doc = "Joins strings element by element, with a separator between; scalars go with every element.",
};

// ---- ShardedFilename, ShardedFilespec ----

static braid_code sharded_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = BRAID_OK;
    for (int i = 0; i < c->input_count && !code; i++)
        code = bd_shape_ctx_rank(c, i, 0, st);
    c->outputs[0] = BD_SCALAR;
    return code;
}

static bool all_scalars(bd_op_ctx *c)
{
    for (int i = 0; i < c->input_count; i++) {
        const braid_shape *s = &bd_input(c, i)->shape;
        if (s->rank == 0) continue;
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a scalar, got shape: %s",
                   c->node->def->inputs[i].name, bd_shape_str(s, text));
        return false;
    }
    return true;
}

// Output 0 is "BASENAME-SHARD-of-COUNT".
static void output_sharded(bd_op_ctx *c, const char *shard, int32_t count)
{
    const bd_string *base = bd_tensor_str(bd_input(c, 0));
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &BD_SCALAR);
    if (!y) return;
    char end[48];
    int len = snprintf(end, sizeof end, "-%s-of-%05d", shard, count);
    char *out = bd_string_room(c, y, 0, base->len + (size_t)len);
    if (!out) return;
    if (base->len > 0) memcpy(out, base->data, base->len);
    memcpy(out + base->len, end, (size_t)len);
}

static void filename_run(bd_op_ctx *c)
{
    char shard[16];
    if (!all_scalars(c)) return;
    snprintf(shard, sizeof shard, "%05d", bd_tensor_i32(bd_input(c, 1))[0]);
    output_sharded(c, shard, bd_tensor_i32(bd_input(c, 2))[0]);
}

static void filespec_run(bd_op_ctx *c)
{
    if (all_scalars(c)) output_sharded(c, "?????", bd_tensor_i32(bd_input(c, 1))[0]);
}

BD_OP(ShardedFilename) = {
    .signature = "(basename: string, shard: int32, num_shards: int32) -> (filename: string)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = sharded_shape,
    .kernels = BD_KERNELS({.run = filename_run}),
    .doc = "The name of a file of several: basename-00003-of-00010.",
};

BD_OP(ShardedFilespec) = {
    .signature = "(basename: string, num_shards: int32) -> (filename: string)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = sharded_shape,
    .kernels = BD_KERNELS({.run = filespec_run}),
    .doc = "A pattern for the names of all files of several, with question marks for the number of the file.",
};

// ---- AsString ----

typedef struct as_string_state {
    char format[32]; // for printf, of a long long or a double
} as_string_state;

static braid_code check_as_string(const braid_op *node, bool is_float, int64_t precision, braid_status *st)
{
    const char *type = braid_dtype_name(bd_node_attr_type(node, "T"));
    bool scientific = bd_node_attr_bool(node, "scientific"), shortest = bd_node_attr_bool(node, "shortest");
    const bd_attr *fill = bd_node_attr(node, "fill");
    if (!is_float && (scientific || shortest))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "scientific and shortest format not supported for datatype %s", type);
    if (!is_float && precision >= 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "precision not supported for datatype %s", type);
    if (fill->s.len > 1)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Fill string must be one or fewer characters");
    if (scientific && shortest)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Cannot select both scientific and shortest notation");
    if (fill->s.len == 1 && !strchr(" +-0#", fill->s.data[0]))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Fill argument not supported: \"%s\"", fill->s.data);
    return BRAID_OK;
}

#define WIDTH_MAX 1024 // also of the precision

static braid_code as_string_create(const braid_op *node, void *state, braid_status *st)
{
    as_string_state *s = state;
    braid_dtype type = bd_node_attr_type(node, "T");
    bool is_float = type == BRAID_FLOAT || type == BRAID_DOUBLE || type == BRAID_HALF ||
                    type == BRAID_BFLOAT16 || bd_dtype_is_complex(type);
    int64_t precision = bd_node_attr_int(node, "precision"), width = bd_node_attr_int(node, "width");
    braid_code code = check_as_string(node, is_float, precision, st);
    if (code) return code;
    if (width > WIDTH_MAX || precision > WIDTH_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "width and precision must be at most %d", WIDTH_MAX);
    bd_strbuf f = {0};
    bd_strbuf_append(&f, "%");
    bd_strbuf_append(
        &f, bd_node_attr_string(node, "fill")); // a flag of printf's: `+` counts without a width, too
    if (width > -1) bd_strbuf_appendf(&f, "%lld", (long long)width);
    if (precision > -1) bd_strbuf_appendf(&f, ".%lld", (long long)precision);
    bd_strbuf_append(&f, type == BRAID_UINT64                    ? "llu"
                         : !is_float                             ? "lld"
                         : bd_node_attr_bool(node, "shortest")   ? "g"
                         : bd_node_attr_bool(node, "scientific") ? "e"
                                                                 : "f");
    snprintf(s->format, sizeof s->format, "%s", bd_strbuf_str(&f));
    bd_strbuf_fini(&f);
    return BRAID_OK;
}

static void append_complex(bd_strbuf *text, const char *format, double real, double imag)
{
    bd_strbuf_append(text, "(");
    bd_strbuf_appendf(text, format, real);
    bd_strbuf_append(text, ",");
    bd_strbuf_appendf(text, format, imag);
    bd_strbuf_append(text, ")");
}

static void append_element(bd_strbuf *text, const char *format, const braid_tensor *x, int64_t i)
{
    const float *f32 = x->data;
    const double *f64 = x->data;
    const uint16_t *bits = x->data;
    switch (x->dtype) {
    case BRAID_BOOL: bd_strbuf_append(text, bd_tensor_bool(x)[i] ? "true" : "false"); break;
    case BRAID_FLOAT: bd_strbuf_appendf(text, format, (double)f32[i]); break;
    case BRAID_DOUBLE: bd_strbuf_appendf(text, format, f64[i]); break;
    case BRAID_COMPLEX64: append_complex(text, format, (double)f32[2 * i], (double)f32[2 * i + 1]); break;
    case BRAID_COMPLEX128: append_complex(text, format, f64[2 * i], f64[2 * i + 1]); break;
    case BRAID_INT8: bd_strbuf_appendf(text, format, (long long)((int8_t *)x->data)[i]); break;
    case BRAID_INT16: bd_strbuf_appendf(text, format, (long long)((int16_t *)x->data)[i]); break;
    case BRAID_UINT8: bd_strbuf_appendf(text, format, (long long)((uint8_t *)x->data)[i]); break;
    case BRAID_UINT16: bd_strbuf_appendf(text, format, (long long)bits[i]); break;
    case BRAID_UINT32: bd_strbuf_appendf(text, format, (long long)((uint32_t *)x->data)[i]); break;
    case BRAID_UINT64: bd_strbuf_appendf(text, format, ((unsigned long long *)x->data)[i]); break;
    case BRAID_HALF: bd_strbuf_appendf(text, format, (double)bd_float_of_half(bits[i])); break;
    case BRAID_BFLOAT16: bd_strbuf_appendf(text, format, (double)bd_float_of_bfloat16(bits[i])); break;
    default: bd_strbuf_appendf(text, format, (long long)bd_tensor_index(x, i)); break;
    }
}

static void as_string_run(bd_op_ctx *c)
{
    const as_string_state *s = c->state;
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &x->shape);
    bd_strbuf text = {0};
    for (int64_t i = 0; y && i < bd_tensor_count(x) && !bd_op_failed(c) && !bd_interrupted_at(i); i++) {
        bd_strbuf_clear(&text);
        append_element(&text, s->format, x, i);
        bd_string_put(c, y, i, bd_strbuf_str(&text), text.len);
    }
    bd_strbuf_fini(&text);
}

BD_OP(AsString) = {
    .signature = "(input: T) -> (output: string)",
    .attrs =
        "T:type{bfloat16,bool,complex128,complex64,double,float,half,int16,int32,int64,int8,uint16,uint32,uint64,uint8}; precision:int=-1; "
        "scientific:bool=false; shortest:bool=false; width:int=-1; fill:string=''",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels =
        BD_KERNELS({.state_size = sizeof(as_string_state), .create = as_string_create, .run = as_string_run}),
    .doc = "Writes numbers as text.",
};

// ---- StringToNumber ----

static void to_number_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor *y = bd_output(c, 0, c->node->output_types[0], &x->shape);
    for (int64_t i = 0; y && i < bd_tensor_count(x) && !bd_interrupted_at(i); i++) {
        const bd_string *s = &bd_tensor_str(x)[i];
        if (bd_text_to_number(s->data, s->len, y, i)) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "StringToNumberOp could not correctly convert string: %.*s",
                   (int)bd_min((int64_t)s->len, 1024), s->data ? s->data : "");
        return;
    }
}

BD_OP(StringToNumber) = {
    .signature = "(string_tensor: string) -> (output: out_type)",
    .attrs = "out_type:type{double,float,int32,int64}=float",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = to_number_run}),
    .doc = "Reads numbers from text.",
};
