// Ops on readers (reader.h), with either form of handles.
#include "ops/common/handle.h"
#include "ops/data_flow/reader.h"

#include "base/alloc.h"
#include "base/wire.h"
#include "ops/common/element.h"
#include "ops/common/string_out.h"

#include <string.h>

// The reader in input 0; the caller gives the reference back. NULL: the execution has failed.
static bd_reader *reader_input(bd_op_ctx *c)
{
    bd_resource *r = bd_input_resource(c, 0, &bd_reader_type);
    return r ? BD_CONTAINER_OF(r, bd_reader, base) : NULL;
}

// ---- Reading ----

static void read(bd_op_ctx *c, int64_t count, bool many)
{
    bd_reader *r = reader_input(c);
    bd_resource *q = r ? bd_input_resource(c, 1, &bd_queue_type) : NULL;
    if (q)
        bd_reader_read(r, BD_CONTAINER_OF(q, bd_queue, base), c, count, many);
    else
        bd_op_done(c);
    bd_resource_unref(q);
    bd_resource_unref(r ? &r->base : NULL);
}

static void read_start(bd_op_ctx *c)
{
    read(c, 1, false);
}

static void read_up_to_start(bd_op_ctx *c)
{
    int64_t count;
    bool ok = bd_input_int(c, 2, "num_records", &count);
    if (ok && count < 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_records must be at least 0, not %lld", (long long)count);
    if (bd_op_failed(c))
        bd_op_done(c);
    else
        read(c, count, true);
}

// Handles of reader and queue, and (ReaderReadUpTo) a scalar.
static braid_code read_shape(bd_shape_ctx *c, braid_status *st)
{
    bool many = c->input_count == 3;
    for (int i = 0; i < 2; i++) {
        braid_code code = bd_shape_ctx_rank(c, i, bd_dtype_is_ref(c->node->input_types[i]) ? 1 : 0, st);
        if (code) return code;
        c->outputs[i] = many ? bd_shape1(-1) : BD_SCALAR;
    }
    return many ? bd_shape_ctx_rank(c, 2, 0, st) : BRAID_OK;
}

#define READ_DOC "The next record of a reader, which takes names of files from the queue as it needs them."
#define READ_UP_TO_DOC "Up to `num_records` records of a reader, fewer where a file ends."

BD_OP(ReaderRead) = {
    .signature = "(reader_handle: Ref(string), queue_handle: Ref(string)) -> (key: string, value: string)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = read_shape,
    .kernels = BD_KERNELS({.start = read_start}),
    .doc = READ_DOC,
};

BD_OP(ReaderReadV2) = {
    .signature = "(reader_handle: resource, queue_handle: resource) -> (key: string, value: string)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = read_shape,
    .kernels = BD_KERNELS({.start = read_start}),
    .doc = READ_DOC,
};

BD_OP(ReaderReadUpTo) = {
    .signature =
        "(reader_handle: Ref(string), queue_handle: Ref(string), num_records: int64) -> (keys: string, "
        "values: string)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = read_shape,
    .kernels = BD_KERNELS({.start = read_up_to_start}),
    .doc = READ_UP_TO_DOC,
};

BD_OP(ReaderReadUpToV2) = {
    .signature =
        "(reader_handle: resource, queue_handle: resource, num_records: int64) -> (keys: string, values: string)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = read_shape,
    .kernels = BD_KERNELS({.start = read_up_to_start}),
    .doc = READ_UP_TO_DOC,
};

// ---- Counts ----

static void output_count(bd_op_ctx *c, bool of_records)
{
    int64_t produced, finished;
    bd_reader *r = reader_input(c);
    if (!r) return;
    bd_reader_counts(r, &produced, &finished);
    bd_resource_unref(&r->base);
    braid_tensor *y = bd_output(c, 0, BRAID_INT64, &BD_SCALAR);
    if (y) bd_tensor_i64(y)[0] = of_records ? produced : finished;
}

static void records_run(bd_op_ctx *c)
{
    output_count(c, true);
}

static void works_run(bd_op_ctx *c)
{
    output_count(c, false);
}

#define RECORDS_DOC "How many records a reader has produced."
#define WORKS_DOC "How many files a reader has read to the end."

BD_OP(ReaderNumRecordsProduced) = {
    .signature = "(reader_handle: Ref(string)) -> (records_produced: int64)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_handle_to_scalar,
    .kernels = BD_KERNELS({.run = records_run}),
    .doc = RECORDS_DOC,
    .deviation = "Does not wait for a read that is in progress.",
};

BD_OP(ReaderNumRecordsProducedV2) = {
    .signature = "(reader_handle: resource) -> (records_produced: int64)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_handle_to_scalar,
    .kernels = BD_KERNELS({.run = records_run}),
    .doc = RECORDS_DOC,
    .deviation = "Does not wait for a read that is in progress.",
};

BD_OP(ReaderNumWorkUnitsCompleted) = {
    .signature = "(reader_handle: Ref(string)) -> (units_completed: int64)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_handle_to_scalar,
    .kernels = BD_KERNELS({.run = works_run}),
    .doc = WORKS_DOC,
    .deviation = "Does not wait for a read that is in progress.",
};

BD_OP(ReaderNumWorkUnitsCompletedV2) = {
    .signature = "(reader_handle: resource) -> (units_completed: int64)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_handle_to_scalar,
    .kernels = BD_KERNELS({.run = works_run}),
    .doc = WORKS_DOC,
    .deviation = "Does not wait for a read that is in progress.",
};

// ---- State ----

// Field numbers of ReaderBaseState.
enum {
    WORK_STARTED = 1,
    WORK_FINISHED = 2,
    RECORDS_PRODUCED = 3,
    CURRENT_WORK = 4
};

// No name of a file is longer; Linux takes 4096.
#define WORK_BYTES_MAX 65536

// Calls act(r, c) when this execution owns the turn.
static void act_start(bd_op_ctx *c, void (*act)(bd_reader *r, bd_op_ctx *c))
{
    bd_reader *r = reader_input(c);
    if (!r) {
        bd_op_done(c);
        return;
    }
    bd_reader_act(r, c, act);
    bd_resource_unref(&r->base);
}

static bool check_has_state(const bd_reader *r, bd_op_ctx *c, const char *what)
{
    if (!r->kind->has_state)
        bd_op_fail(c, BRAID_UNIMPLEMENTED, "Reader %s: a %s has none", what, r->kind->name);
    return r->kind->has_state;
}

static void put_count(bd_wire_writer *w, uint32_t field, int64_t value)
{
    if (value != 0) bd_wire_put_uint(w, field, (uint64_t)value);
}

static void serialize(bd_reader *r, bd_op_ctx *c)
{
    if (!check_has_state(r, c, "SerializeState")) return;
    bd_message message;
    bd_wire_writer w;
    bd_message_init(&message);
    bd_wire_writer_init(&w, &message);
    put_count(&w, WORK_STARTED, r->works_started);
    put_count(&w, WORK_FINISHED, r->works_finished);
    put_count(&w, RECORDS_PRODUCED, r->produced);
    if (r->work && *r->work) bd_wire_put_bytes(&w, CURRENT_WORK, r->work, strlen(r->work));
    bd_wire_writer_finish(&w);
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &BD_SCALAR);
    char *room = y ? bd_string_room(c, y, 0, message.bytes) : NULL;
    if (room) bd_message_gather(&message, room);
    bd_message_fini(&message);
}

static void serialize_start(bd_op_ctx *c)
{
    act_start(c, serialize);
}

typedef struct reader_state {
    uint64_t started, finished, produced;
    char *work; // owned; NULL
} reader_state;

static bool parse_state(const bd_string *s, reader_state *state)
{
    bd_slice slice;
    bd_wire_reader in = bd_wire_reader_block(&slice, s->data ? s->data : "", s->len);
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(&in, &field, &type)) {
        size_t len;
        uint64_t *count = field == WORK_STARTED       ? &state->started
                          : field == WORK_FINISHED    ? &state->finished
                          : field == RECORDS_PRODUCED ? &state->produced
                                                      : NULL;
        if (count && type == BD_WIRE_VARINT) {
            bd_wire_get_varint(&in, count);
        } else if (field == CURRENT_WORK && type == BD_WIRE_BYTES) {
            bd_free(state->work);
            state->work = bd_wire_get_string(&in, WORK_BYTES_MAX, &len);
        } else {
            bd_wire_skip(&in, type);
        }
    }
    return !in.failed;
}

static void restore(bd_reader *r, bd_op_ctx *c)
{
    const bd_string *s = bd_tensor_str(bd_input(c, 1));
    reader_state state = {0};
    if (!check_has_state(r, c, "RestoreState")) {
        bd_reader_reset(r);
        return;
    }
    const char *kind = r->kind->name;
    if (!parse_state(s, &state))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Could not parse state for %s '%s': %zu bytes", kind, r->name,
                   s->len);
    else if ((state.started | state.finished | state.produced) > INT64_MAX)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Unexpected negative value when restoring in %s '%s'", kind,
                   r->name);
    else if (state.started < state.finished)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Inconsistent work started vs. finished when restoring in %s '%s': %llu vs. %llu", kind,
                   r->name, (unsigned long long)state.started, (unsigned long long)state.finished);
    if (bd_op_failed(c))
        bd_reader_reset(r);
    else
        bd_reader_set_state(r, (int64_t)state.started, (int64_t)state.finished, (int64_t)state.produced,
                            state.work ? state.work : "");
    bd_free(state.work);
}

static void restore_start(bd_op_ctx *c)
{
    const braid_shape *s = &bd_input(c, 1)->shape;
    if (s->rank == 0) {
        act_start(c, restore);
        return;
    }
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Reader state must be scalar, but had shape: %s",
               bd_shape_str(s, (char[BD_SHAPE_STR_MAX]){0}));
    bd_op_done(c);
}

static void reset(bd_reader *r, bd_op_ctx *c)
{
    (void)c;
    bd_reader_reset(r);
}

static void reset_start(bd_op_ctx *c)
{
    act_start(c, reset);
}

static braid_code restore_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_handle(c, st);
    return code ? code : bd_shape_ctx_rank(c, 1, 0, st);
}

#define SERIALIZE_DOC                                                                                        \
    "The state of a reader between records as a string. Only readers of whole files and of names have one."
#define RESTORE_DOC "Gives a reader a state that ReaderSerializeState made."
#define RESET_DOC "Makes a reader as new."

BD_OP(ReaderSerializeState) = {
    .signature = "(reader_handle: Ref(string)) -> (state: string)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_handle_to_scalar,
    .kernels = BD_KERNELS({.start = serialize_start}),
    .doc = SERIALIZE_DOC,
};

BD_OP(ReaderSerializeStateV2) = {
    .signature = "(reader_handle: resource) -> (state: string)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_handle_to_scalar,
    .kernels = BD_KERNELS({.start = serialize_start}),
    .doc = SERIALIZE_DOC,
};

BD_OP(ReaderRestoreState) = {
    .signature = "(reader_handle: Ref(string), state: string) -> ()",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = restore_shape,
    .kernels = BD_KERNELS({.start = restore_start}),
    .doc = RESTORE_DOC,
};

BD_OP(ReaderRestoreStateV2) = {
    .signature = "(reader_handle: resource, state: string) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = restore_shape,
    .kernels = BD_KERNELS({.start = restore_start}),
    .doc = RESTORE_DOC,
};

BD_OP(ReaderReset) = {
    .signature = "(reader_handle: Ref(string)) -> ()",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_handle_to_scalar,
    .kernels = BD_KERNELS({.start = reset_start}),
    .doc = RESET_DOC,
};

BD_OP(ReaderResetV2) = {
    .signature = "(reader_handle: resource) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_handle_to_scalar,
    .kernels = BD_KERNELS({.start = reset_start}),
    .doc = RESET_DOC,
};
