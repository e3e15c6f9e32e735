// Ops that TensorFlow's debugger inserts on edges: DebugIdentity, DebugNanCount, DebugNumericSummary, which
// write what they make to their debug URLs, and the identities that mark gradients.
#include "base/alloc.h"
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "io/debug_dump.h"
#include "ops/math/cast.h"
#include "ops/state/variable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WATCH_ATTRS                                                                                          \
    "device_name:string=''; tensor_name:string=''; debug_urls:list(string)=[]; gated_grpc:bool=false"
#define WATCH_FLAGS (BD_OP_ALLOWS_UNINITIALIZED | BD_OP_NOT_DIFFERENTIABLE | BD_OP_TAKES_SNAPSHOT)
#define WATCH_DEVIATION "Debug URLs are directories, file://DIR; grpc:// is refused."

typedef struct watch {
    const bd_attr *urls; // of the node
    bd_debug_key key;
} watch;

// Attr tensor_name is "NODE:SLOT", or "NODE".
static braid_code read_name(const braid_op *node, watch *w, braid_status *st)
{
    const char *name = bd_node_attr_string(node, "tensor_name");
    const char *colon = strchr(name, ':');
    char *end = NULL;
    w->key.node = name;
    w->key.node_len = colon ? (size_t)(colon - name) : strlen(name);
    if (!colon) return BRAID_OK;
    const long slot = strtol(colon + 1, &end, 10);
    w->key.slot = (int)slot;
    if (strchr(colon + 1, ':'))
        bd_fail(st, BRAID_INVALID_ARGUMENT, "Failed to parse tensor name: \"%s\"", name);
    else if (end == colon + 1 || *end || slot < 0 || slot > INT32_MAX)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "Invalid string value for output_slot: \"%s\"", colon + 1);
    return st->code;
}

static braid_code create_watch(const braid_op *node, void *state, braid_status *st)
{
    watch *w = state;
    w->urls = bd_node_attr(node, "debug_urls");
    w->key = (bd_debug_key){.device = bd_node_attr_string(node, "device_name"), .op = node->op_type};
    for (int i = 0; i < w->urls->list.count; i++)
        if (!bd_debug_url_dir(w->urls->list.s[i].data, st)) return st->code;
    return read_name(node, w, st);
}

// Fails on all URLs alike, so the first error is told.
static void publish(bd_op_ctx *c, const braid_tensor *t)
{
    const watch *w = c->state;
    BD_STATUS(st);
    for (int i = 0; t && i < w->urls->list.count && !st->code; i++)
        bd_debug_dump_tensor(bd_op_fs(c), w->urls->list.s[i].data, &w->key, t, c->node->output_types[0],
                             &c->node->output_shapes[0], st);
    if (st->code) bd_op_fail_status(c, st);
}

// A gate (attr gated_grpc) is open for directories. A closed one passes no value: output 0 is then a vector
// without elements.
static bool is_shut(bd_op_ctx *c)
{
    const watch *w = c->state;
    if (!bd_node_attr_bool(c->node, "gated_grpc") || w->urls->list.count > 0) return false;
    braid_shape nothing = bd_shape1(0);
    bd_output(c, 0, c->node->output_types[0], &nothing);
    return true;
}

// ---- DebugIdentity ----

static void value_run(bd_op_ctx *c)
{
    braid_shape nothing = bd_shape1(0);
    if (bd_tensor_is_set(bd_input(c, 0))) {
        bd_output_set(c, 0, bd_input(c, 0));
    } else {
        bd_output(c, 0, c->node->output_types[0], &nothing);
    }
}

static void identity_run(bd_op_ctx *c)
{
    if (is_shut(c)) return;
    publish(c, bd_input(c, 0));
    value_run(c);
}

BD_OP(DebugIdentity) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "T:type; " WATCH_ATTRS,
    .flags = WATCH_FLAGS,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.state_size = sizeof(watch), .create = create_watch, .run = identity_run}),
    .doc = "Forwards its input (of a variable: its content); of an uninitialized variable an empty vector.",
    .deviation = WATCH_DEVIATION,
};

// ---- Numbers, a piece at a time as doubles ----

#define PIECE 512

static void each_number(const braid_tensor *x, void (*visit)(void *arg, double number), void *arg)
{
    double piece[PIECE];
    if (!bd_tensor_is_set(x)) return;
    bd_cast_fn convert = bd_cast(bd_cast_type_of(x->dtype), BD_CAST_F64);
    size_t size = braid_dtype_size(x->dtype);
    int64_t count = bd_tensor_count(x);
    for (int64_t at = 0; at < count; at += PIECE) {
        int64_t len = count - at < PIECE ? count - at : PIECE;
        convert((const char *)x->data + (size_t)at * size, piece, len);
        for (int64_t i = 0; i < len; i++)
            visit(arg, piece[i]);
    }
}

// ---- DebugNanCount ----

static void count_nan(void *arg, double number)
{
    int64_t *count = arg;
    *count += isnan(number) != 0;
}

// TensorFlow's shape function says scalar, although the kernel gives a vector; so does Braid's.
static braid_code nan_count_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = bd_shape1(bd_node_attr_bool(c->node, "gated_grpc") ? -1 : 1);
    return BRAID_OK;
}

static void nan_count_run(bd_op_ctx *c)
{
    int64_t count = 0;
    braid_shape one = bd_shape1(1);
    if (is_shut(c)) return;
    each_number(bd_input(c, 0), count_nan, &count);
    braid_tensor *y = bd_output(c, 0, BRAID_INT64, &one);
    if (y) bd_tensor_i64(y)[0] = count;
    publish(c, y);
}

BD_OP(DebugNanCount) = {
    .signature = "(input: T) -> (output: int64)",
    .attrs = "T:type; " WATCH_ATTRS,
    .flags = WATCH_FLAGS,
    .shape = nan_count_shape,
    .kernels = BD_KERNELS({.types = "T=float|double|half|bfloat16|int8|int16|int32|int64|uint8|uint16",
                           .state_size = sizeof(watch),
                           .create = create_watch,
                           .run = nan_count_run}),
    .doc = "How many elements are not a number, as a vector of one element.",
    .deviation = WATCH_DEVIATION,
};

// ---- DebugNumericSummary ----

// Before the sizes of the dimensions.
#define SUMMARY_NUMBERS 14

typedef struct numeric_summary {
    double lower,
        upper; // finite numbers at or beyond the bounds count as infinite; an infinite bound has no effect
    double nan, below, negative, zero, positive, above;
    double finite, min, max, sum, squares; // squares of distances from `mean`
    double mean;
} numeric_summary;

static void count_number(void *arg, double x)
{
    numeric_summary *s = arg;
    if (isnan(x)) {
        s->nan++;
        return;
    }
    if (x == -INFINITY || (isfinite(s->lower) && x <= s->lower && isfinite(x))) {
        s->below++;
    } else if (x == INFINITY || (isfinite(s->upper) && x >= s->upper)) {
        s->above++;
    } else if (x < 0) {
        s->negative++;
    } else if (x > 0) {
        s->positive++;
    } else {
        s->zero++;
    }
    if (!isfinite(x)) return;
    s->finite++;
    s->min = fmin(s->min, x);
    s->max = fmax(s->max, x);
    s->sum += x;
}

static void add_square(void *arg, double x)
{
    numeric_summary *s = arg;
    if (isfinite(x)) s->squares += (x - s->mean) * (x - s->mean);
}

static braid_code summary_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    bool is_sure = c->inputs[0].rank >= 0 && !bd_node_attr_bool(c->node, "gated_grpc");
    c->outputs[0] = bd_shape1(is_sure ? SUMMARY_NUMBERS + c->inputs[0].rank : -1);
    return BRAID_OK;
}

static void summary_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    numeric_summary s = {.lower = bd_node_attr_float(c->node, "lower_bound"),
                         .upper = bd_node_attr_float(c->node, "upper_bound"),
                         .min = INFINITY,
                         .max = -INFINITY,
                         .mean = NAN};
    bool is_set = bd_tensor_is_set(x);
    // What is not initialized has the variable's shape.
    const braid_out from = c->node->inputs[0];
    const braid_shape *x_shape = is_set ? &x->shape : &from.op->output_shapes[from.index];
    const int rank = bd_shape_is_known(x_shape) ? x_shape->rank : 0;
    if (is_shut(c)) return;
    each_number(x, count_number, &s);
    if (s.finite > 0) s.mean = s.sum / s.finite;
    each_number(x, add_square, &s);
    const double numbers[SUMMARY_NUMBERS] = {is_set,
                                             is_set ? (double)bd_tensor_count(x) : 0,
                                             s.nan,
                                             s.below,
                                             s.negative,
                                             s.zero,
                                             s.positive,
                                             s.above,
                                             s.min,
                                             s.max,
                                             s.mean,
                                             s.finite > 0 ? s.squares / s.finite : NAN,
                                             bd_dtype_base(c->node->input_types[0]),
                                             rank};
    braid_shape shape = bd_shape1(SUMMARY_NUMBERS + rank);
    braid_tensor *y = bd_output(c, 0, BRAID_DOUBLE, &shape);
    for (int i = 0; y && i < SUMMARY_NUMBERS; i++)
        bd_tensor_f64(y)[i] = numbers[i];
    for (int d = 0; y && d < rank; d++)
        bd_tensor_f64(y)[SUMMARY_NUMBERS + d] = (double)x_shape->dims[d];
    const bool is_healthy = s.nan == 0 && s.below == 0 && s.above == 0;
    if (!is_healthy || !bd_node_attr_bool(c->node, "mute_if_healthy")) publish(c, y);
}

BD_OP(DebugNumericSummary) = {
    .signature = "(input: T) -> (output: double)",
    .attrs =
        "T:type; device_name:string=''; tensor_name:string=''; debug_urls:list(string)=[]; lower_bound:float=-inf; "
        "upper_bound:float=inf; mute_if_healthy:bool=false; gated_grpc:bool=false",
    .flags = WATCH_FLAGS,
    .shape = summary_shape,
    .kernels = BD_KERNELS({.types = "T=float|double|bool|int8|int16|int32|int64|uint8|uint16",
                           .state_size = sizeof(watch),
                           .create = create_watch,
                           .run = summary_run}),
    .doc =
        "A vector: whether there is a value, its number of elements, how many are nan, -inf or not above lower_bound, negative, 0, "
        "positive, inf or not below upper_bound; least, greatest, mean and variance of the finite ones; type, rank and sizes.",
    .deviation = WATCH_DEVIATION,
};

// ---- Marks of gradients ----

static void reference_run(bd_op_ctx *c)
{
    bd_output_ref(c, 0, bd_input_ref(c, 0));
}

static void pass_gradient(bd_grad_ctx *c)
{
    bd_grad_pass(c, 0, 0);
}

BD_OP(DebugGradientIdentity) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "T:type",
    .flags = BD_OP_ALLOWS_UNINITIALIZED | BD_OP_SPARSE_GRAD,
    .shape = bd_shape_fn_unchanged,
    .gradient = pass_gradient,
    .kernels = BD_KERNELS({.run = value_run}),
    .doc = "Forwards its input; the debugger identifies gradients by it.",
};

BD_OP(DebugGradientRefIdentity) = {
    .signature = "(input: Ref(T)) -> (output: Ref(T))",
    .attrs = "T:type",
    .flags = BD_OP_ALLOWS_UNINITIALIZED | BD_OP_SPARSE_GRAD,
    .shape = bd_shape_fn_unchanged,
    .gradient = pass_gradient,
    .kernels = BD_KERNELS({.run = reference_run}),
    .doc = "Forwards its reference; the debugger identifies gradients by it.",
};
