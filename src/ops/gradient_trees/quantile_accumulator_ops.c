// Accumulators of quantiles of one feature each, which are resources, and their boundaries of buckets.
#include "base/check.h"
#include "ops/boosted_trees/inputs.h"
#include "ops/common/handle.h"
#include "ops/gradient_trees/ensemble.h"
#include "ops/gradient_trees/quantile_summary.h"
#include "proto/pack.h"
#include "tensorflow/contrib/boosted_trees/proto/quantiles.pb-c.h"
#include <string.h>

typedef BoostedTrees__QuantileSummaryState summary_message;
typedef BoostedTrees__QuantileStreamState stream_message;

typedef struct accumulator {
    bd_resource base;
    double epsilon;
    int64_t quantiles, max_elements;
    bool makes_quantiles;
    bd_mutex mu;
    int64_t stamp; // guarded by mu, and so is what follows
    bd_quantile_stream stream;
    bool is_ready; // there are boundaries
    float *boundaries;
    int64_t boundary_count;
    bd_charge charge; // for the stream
} accumulator;

// ---- The resource ----

static void destroy(bd_resource *r)
{
    accumulator *a = BD_CONTAINER_OF(r, accumulator, base);
    bd_quantile_stream_fini(&a->stream);
    bd_free(a->boundaries);
    bd_charge_fini(&a->charge);
    bd_mutex_fini(&a->mu);
    bd_free(a);
}

static const bd_resource_type accumulator_type = {.name = "QuantileStreamResource", .destroy = destroy};

static accumulator *input_accumulator(bd_op_ctx *c, int i)
{
    bd_resource *r = bd_input_resource(c, i, &accumulator_type);
    return r ? BD_CONTAINER_OF(r, accumulator, base) : NULL;
}

static void release(accumulator *a)
{
    bd_mutex_unlock(&a->mu);
    bd_resource_unref(&a->base);
}

static void handle_run(bd_op_ctx *c)
{
    bd_output_handle(c, bd_node_attr_string(c->node, "container"),
                     bd_node_attr_string(c->node, "shared_name"), &accumulator_type);
}

static void is_initialized_run(bd_op_ctx *c)
{
    bd_boosted_trees_is_initialized(c, &accumulator_type);
}

typedef struct spec {
    const braid_op *node;
    int64_t stamp;
} spec;

static braid_code make_accumulator(void *arg, bd_resource **out, braid_status *st)
{
    const spec *s = arg;
    bd_quantile_stream stream;
    const double epsilon = (double)bd_node_attr_float(s->node, "epsilon");
    const int64_t max_elements = bd_node_attr_int(s->node, "max_elements");
    const int64_t quantiles = bd_node_attr_int(s->node, "num_quantiles");
    if (bd_quantile_stream_init(&stream, epsilon, max_elements, st)) return st->code;
    if (quantiles < 1 || quantiles > INT32_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "num_quantiles must be 1 to 2147483647, got %lld",
                       (long long)quantiles);
    accumulator *a = bd_calloc(1, sizeof *a);
    bd_resource_init(&a->base, &accumulator_type);
    bd_mutex_init(&a->mu);
    a->epsilon = epsilon;
    a->quantiles = quantiles;
    a->max_elements = max_elements;
    a->makes_quantiles = bd_node_attr_bool(s->node, "generate_quantiles");
    a->stamp = s->stamp;
    a->stream = stream;
    *out = &a->base;
    return BRAID_OK;
}

// An accumulator that exists already stays as it is.
static void create_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    spec made = {.node = c->node};
    char *container, *name;
    bd_resource *r = NULL;
    if (!bd_gbt_input_int64(c, 1, "stamp_token", &made.stamp) ||
        !bd_boosted_trees_handle(c, &accumulator_type, &container, &name))
        return;
    const bd_resource_spec resource = {container, name, &accumulator_type, make_accumulator, &made};
    if (bd_resources_lookup_or_create(c->step->resources, &resource, &r, st)) bd_op_fail_status(c, st);
    bd_resource_unref(r);
    bd_free(container);
    bd_free(name);
}

// ---- Summaries as messages ----

// A stream's levels, and an empty summary behind them: TensorFlow's has room for one that is being made.
static void emit_stream(bd_message_out *out, const void *arg)
{
    const bd_quantile_stream *s = arg;
    const bd_quantile_summary none = {0};
    for (size_t i = 0; i < s->levels.len; i++)
        bd_emit_message(out, 1, bd_gbt_emit_summary, &s->levels.items[i]);
    bd_emit_message(out, 1, bd_gbt_emit_summary, &none);
}

static braid_code read_summary(bd_quantile_summary *s, const summary_message *m, braid_status *st)
{
    s->items = bd_try_calloc(m->n_entries + 1, sizeof *s->items);
    if (!s->items)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for a summary of %zu entries", m->n_entries);
    s->len = s->cap = m->n_entries;
    for (size_t i = 0; i < m->n_entries; i++)
        s->items[i] = (bd_quantile_entry){m->entries[i]->value, m->entries[i]->weight,
                                          m->entries[i]->min_rank, m->entries[i]->max_rank};
    return BRAID_OK;
}

// The memory of the entries of a stream, and of boundaries.
static size_t bytes_of(const bd_quantile_stream *s, int64_t boundaries)
{
    size_t bytes = (size_t)boundaries * sizeof(float);
    for (size_t i = 0; i < s->levels.len; i++)
        bytes += s->levels.items[i].cap * sizeof(bd_quantile_entry);
    return bytes;
}

// Counts what the accumulator has, and `more`.
static braid_code charge(accumulator *a, size_t more, braid_status *st)
{
    return bd_charge_set(&a->charge, bytes_of(&a->stream, a->boundary_count) + more,
                         "The quantiles of a feature", st);
}

// ---- Adding ----

static braid_code add_summary(accumulator *a, const bd_string *message, braid_status *st)
{
    BD_PROTO_ARENA(arena);
    BD_STATUS(why);
    bd_quantile_summary s = {0};
    const summary_message *m = bd_proto_unpack(&boosted_trees__quantile_summary_state__descriptor,
                                               message->data, message->len, arena, why);
    if (!m) return bd_fail(st, why->code, "Unable to parse quantile summary: %s", braid_status_message(why));
    if (!charge(a, m->n_entries * sizeof *s.items, st) && !read_summary(&s, m, st))
        bd_quantile_stream_add_summary(&a->stream, s.items, (int64_t)s.len);
    bd_array_free(&s);
    return st->code ? st->code : charge(a, 0, st);
}

// What is added with another stamp is left out.
static void add_run(bd_op_ctx *c)
{
    const int count = (int)bd_node_attr_int(c->node, "num_resource_handles");
    int64_t stamp;
    if (!bd_gbt_input_int64(c, count, "stamp_token", &stamp)) return;
    for (int i = 0; i < count && !bd_op_failed(c); i++) {
        BD_STATUS(st);
        const bd_string *message;
        if (!bd_gbt_input_message(c, count + 1 + i, "summaries", &message)) return;
        accumulator *a = input_accumulator(c, i);
        if (!a) return;
        bd_mutex_lock(&a->mu);
        if (a->stamp == stamp && add_summary(a, message, st)) bd_op_fail_status(c, st);
        release(a);
    }
}

// ---- Boundaries ----

// Takes `count` values over.
static void set_boundaries(accumulator *a, float *values, int64_t count)
{
    bd_free(a->boundaries);
    a->boundaries = values;
    a->boundary_count = count;
    a->is_ready = true;
}

static void get_buckets_run(bd_op_ctx *c)
{
    const int count = (int)bd_node_attr_int(c->node, "num_resource_handles");
    int64_t stamp;
    if (!bd_gbt_input_int64(c, count, "stamp_token", &stamp)) return;
    for (int i = 0; i < count && !bd_op_failed(c); i++) {
        accumulator *a = input_accumulator(c, i);
        if (!a) return;
        bd_mutex_lock(&a->mu);
        const bool is_ready = a->stamp == stamp && a->is_ready;
        bd_gbt_output_bool(c, i, is_ready);
        bd_gbt_output_floats(c, count + i, a->boundaries, is_ready ? a->boundary_count : 0);
        release(a);
    }
}

// The accumulator of input 0, locked, whose stamp is that of input 1. NULL: the kernel has failed.
static accumulator *lock_stamped(bd_op_ctx *c, int64_t *next)
{
    int64_t stamp;
    if (!bd_gbt_input_int64(c, 1, "stamp_token", &stamp) ||
        !bd_gbt_input_int64(c, 2, "next_stamp_token", next))
        return NULL;
    accumulator *a = input_accumulator(c, 0);
    if (!a) return NULL;
    bd_mutex_lock(&a->mu);
    if (a->stamp == stamp) return a;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Invalid stamp token. Passed stamp token: %lld Current token: %lld",
               (long long)stamp, (long long)a->stamp);
    release(a);
    return NULL;
}

// Moves the summary of the stream out. False: the kernel has failed.
static bool finish(bd_op_ctx *c, accumulator *a, bd_quantile_summary *s)
{
    BD_STATUS(st);
    if (!bd_quantile_stream_finish(&a->stream, s, st)) return true;
    bd_op_fail_status(c, st);
    return false;
}

static void flush_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    int64_t next, count;
    float *values;
    bd_quantile_summary s = {0};
    accumulator *a = lock_stamped(c, &next);
    if (!a) return;
    const size_t more = a->makes_quantiles ? (size_t)a->quantiles * sizeof *values : 0;
    if (charge(a, more, st))
        bd_op_fail_status(c, st);
    else if (finish(c, a, &s)) {
        if (bd_gbt_make_boundaries(&s, a->quantiles, a->makes_quantiles, &values, &count, st)) {
            bd_op_fail_status(c, st);
        } else {
            set_boundaries(a, values, count);
            a->stamp = next;
        }
        if (!st->code && charge(a, 0, st)) bd_op_fail_status(c, st);
    }
    bd_array_free(&s);
    release(a);
}

static void flush_summary_run(bd_op_ctx *c)
{
    int64_t next;
    bd_quantile_summary s = {0};
    accumulator *a = lock_stamped(c, &next);
    if (!a) return;
    const braid_tensor *y = bd_output(c, 0, BRAID_STRING, &BD_SCALAR);
    if (y && finish(c, a, &s) && bd_output_message(c, y, 0, bd_gbt_emit_summary, &s)) {
        BD_STATUS(st);
        a->stamp = next;
        if (charge(a, 0, st)) bd_op_fail_status(c, st);
    }
    bd_array_free(&s);
    release(a);
}

// ---- Saving and restoring ----

static void serialize_run(bd_op_ctx *c)
{
    accumulator *a = input_accumulator(c, 0);
    if (!a) return;
    bd_mutex_lock(&a->mu);
    const braid_tensor *y = bd_output(c, 1, BRAID_STRING, &BD_SCALAR);
    if (y && bd_output_message(c, y, 0, emit_stream, &a->stream) && bd_gbt_output_int64(c, 0, a->stamp) &&
        bd_gbt_output_bool(c, 2, a->is_ready))
        bd_gbt_output_floats(c, 3, a->boundaries, a->is_ready ? a->boundary_count : 0);
    release(a);
}

// The last summary is the one that was being made, which is empty.
static braid_code read_stream(bd_quantile_stream *s, const bd_string *message, braid_status *st)
{
    BD_PROTO_ARENA(arena);
    BD_STATUS(why);
    const stream_message *m = bd_proto_unpack(&boosted_trees__quantile_stream_state__descriptor,
                                              message->data, message->len, arena, why);
    if (!m)
        return bd_fail(st, why->code, "Unable to parse quantile stream state: %s", braid_status_message(why));
    if (m->n_summaries == 0 || m->n_summaries > 63)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "The quantile stream state has %zu summaries",
                       m->n_summaries);
    for (size_t i = 0; i + 1 < m->n_summaries; i++) {
        bd_array_push(&s->levels, (bd_quantile_summary){0});
        if (read_summary(&s->levels.items[i], m->summaries[i], st)) return st->code;
    }
    return BRAID_OK;
}

// Reads inputs 1 to 4 into an accumulator, all or nothing.
static void restore(bd_op_ctx *c, accumulator *a, int64_t stamp, bool is_ready, const bd_string *state)
{
    BD_STATUS(st);
    bd_quantile_stream stream;
    const int64_t count = bd_input(c, 4)->shape.dims[0];
    float *values = bd_try_malloc(((size_t)count + 1) * sizeof *values);
    bd_quantile_stream_init(&stream, a->epsilon, a->max_elements, st);
    if (!values) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "no memory for %lld boundaries", (long long)count);
    } else if (read_stream(&stream, state, st) || charge(a, bytes_of(&stream, count), st)) {
        bd_op_fail_status(c, st);
    } else {
        const bd_quantile_stream old = a->stream;
        a->stream = stream;
        stream = old;
        if (count > 0) memcpy(values, bd_tensor_f32(bd_input(c, 4)), (size_t)count * sizeof *values);
        set_boundaries(a, values, count);
        values = NULL;
        a->stamp = stamp;
        a->is_ready = is_ready;
        charge(a, 0, st); // less than before
    }
    bd_quantile_stream_fini(&stream);
    bd_free(values);
}

static void deserialize_run(bd_op_ctx *c)
{
    int64_t stamp;
    bool is_ready;
    const bd_string *state;
    if (!bd_gbt_input_int64(c, 1, "stamp_token", &stamp) ||
        !bd_gbt_input_message(c, 2, "stream_state", &state) ||
        !bd_gbt_input_bool(c, 3, "are_buckets_ready", &is_ready) || !bd_input_has_rank(c, 4, 1, "buckets"))
        return;
    accumulator *a = input_accumulator(c, 0);
    if (!a) return;
    bd_mutex_lock(&a->mu);
    restore(c, a, stamp, is_ready, state);
    release(a);
}

// ---- Shapes ----

static braid_code add_shape(bd_shape_ctx *c, braid_status *st)
{
    const int count = (int)bd_node_attr_int(c->node, "num_resource_handles");
    return bd_shape_ctx_ranks(c, 0, count + 1, 0, st);
}

static braid_code get_buckets_shape(bd_shape_ctx *c, braid_status *st)
{
    const int count = (int)bd_node_attr_int(c->node, "num_resource_handles");
    (void)st;
    for (int i = 0; i < count; i++) {
        c->outputs[i] = BD_SCALAR;
        c->outputs[count + i] = bd_shape1(-1);
    }
    return BRAID_OK;
}

static braid_code scalars_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = BD_SCALAR;
    return bd_shape_ctx_ranks(c, 0, c->input_count, 0, st);
}

static braid_code flush_summary_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = BD_SCALAR;
    return BRAID_OK;
}

static braid_code serialize_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < 3; i++)
        c->outputs[i] = BD_SCALAR;
    c->outputs[3] = bd_shape1(-1);
    return bd_shape_ctx_rank(c, 0, 0, st);
}

// ---- Definitions ----

#define HANDLE "quantile_accumulator_handle: resource"
#define HANDLES "quantile_accumulator_handles: num_resource_handles*resource, stamp_token: int64"
#define STAMP_DEVIATION "TensorFlow ends the process for a stamp other than the accumulator's."

BD_OP(QuantileStreamResourceHandleOp) = {
    .signature = "() -> (resource: resource)",
    .attrs = "container:string=''; shared_name:string=''",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = handle_run}),
    .doc = "A handle to an accumulator of quantiles of tf.contrib.boosted_trees.",
};

BD_OP(QuantileAccumulatorIsInitialized) = {
    .signature = "(" HANDLE ") -> (is_initialized: bool)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = is_initialized_run}),
    .doc = "Whether the accumulator exists.",
};

BD_OP(CreateQuantileAccumulator) = {
    .signature = "(" HANDLE ", stamp_token: int64) -> ()",
    .attrs = "container:string=''; shared_name:string=''; max_elements:int=1099511627776; epsilon:float; "
             "num_quantiles:int; generate_quantiles:bool=false",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalars_shape,
    .kernels = BD_KERNELS({.run = create_run}),
    .doc =
        "Makes an accumulator of about max_elements values at most with an error of epsilon, unless it exists.",
};

BD_OP(QuantileAccumulatorAddSummaries) = {
    .signature = "(" HANDLES ", summaries: num_resource_handles*string) -> ()",
    .attrs = "num_resource_handles:int>=1",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = add_shape,
    .kernels = BD_KERNELS({.run = add_run}),
    .doc =
        "Adds a serialized QuantileSummaryState to each accumulator. Those with another stamp stay as they are.",
};

BD_OP(QuantileAccumulatorGetBuckets) = {
    .signature = "(" HANDLES
                 ") -> (are_buckets_ready: num_resource_handles*bool, buckets: num_resource_handles*float)",
    .attrs = "num_resource_handles:int>=1",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = get_buckets_shape,
    .kernels = BD_KERNELS({.run = get_buckets_run}),
    .doc = "The boundaries of buckets that the last flush made; none with another stamp.",
};

BD_OP(QuantileAccumulatorFlush) = {
    .signature = "(" HANDLE ", stamp_token: int64, next_stamp_token: int64) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.run = flush_run}),
    .doc = "Makes boundaries of num_quantiles buckets of what was added, or with generate_quantiles as many "
           "quantiles and one more. The accumulator is empty afterwards and has the next stamp.",
    .deviation = STAMP_DEVIATION " Without values there are no quantiles, where TensorFlow ends the process.",
};

BD_OP(QuantileAccumulatorFlushSummary) = {
    .signature = "(" HANDLE ", stamp_token: int64, next_stamp_token: int64) -> (output: string)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = flush_summary_shape,
    .kernels = BD_KERNELS({.run = flush_summary_run}),
    .doc =
        "The serialized QuantileSummaryState of what was added. The accumulator is empty afterwards and has the "
        "next stamp.",
    .deviation = STAMP_DEVIATION,
};

BD_OP(QuantileAccumulatorSerialize) = {
    .signature = "(" HANDLE
                 ") -> (stamp_token: int64, stream_state: string, are_buckets_ready: bool, buckets: float)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = serialize_shape,
    .kernels = BD_KERNELS({.run = serialize_run}),
    .doc = "The stamp of an accumulator, its serialized QuantileStreamState, and its boundaries.",
};

BD_OP(QuantileAccumulatorDeserialize) = {
    .signature = "(" HANDLE
                 ", stamp_token: int64, stream_state: string, are_buckets_ready: bool, buckets: float) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.run = deserialize_run}),
    .doc = "Replaces the stamp of an accumulator, what was added to it, and its boundaries.",
};
