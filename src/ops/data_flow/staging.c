// The ops on staging areas: Stage and MapStage with their kin.
#include "base/alloc.h"
#include "graph/shape_fn.h"
#include "ops/common/element.h"
#include "ops/data_flow/staging_area.h"

// ---- What is asked ----

static bool check_indices(bd_op_ctx *c, int tensors, const int32_t *index, int count)
{
    if (count == 0) bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Indices are empty");
    for (int k = 0; k < count && !bd_op_failed(c); k++) {
        if (index[k] < 0 || index[k] >= tensors) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Index '%d' was out of bounds '%d'.", index[k], tensors);
        } else if (k > 0 && index[k] <= index[k - 1]) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Indices are not strictly ordered");
        }
    }
    return !bd_op_failed(c);
}

// Copies the indices in input `i`, which must be increasing and valid for the area; the caller frees the
// copy. A reference may change while this kernel waits. Returns false when the kernel has failed.
static bool read_indices(bd_op_ctx *c, const bd_staging_area *a, int i, int32_t **index, int *count)
{
    int tensors;
    bd_staging_area_types(a, &tensors);
    const braid_tensor *t = bd_input(c, i);
    *count = (int)bd_min(bd_tensor_count(t), tensors + 1); // one more than fit is refused
    *index = bd_memdup(bd_tensor_i32(t), (size_t)*count * sizeof **index);
    return check_indices(c, tensors, *index, *count);
}

static bool read_key(bd_op_ctx *c, int64_t *key)
{
    const braid_tensor *t = bd_input(c, 0);
    if (bd_tensor_count(t) == 1) {
        *key = bd_tensor_i64(t)[0];
        return true;
    }
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "key must be an int64 scalar, got shape %s",
               bd_shape_str(&t->shape, (char[BD_SHAPE_STR_MAX]){0}));
    return false;
}

static bool check_types(bd_op_ctx *c, const bd_staging_area *a, const bd_staging_plan *plan, int count)
{
    if (count != plan->index_count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Mismatch stage/unstage: %d vs. %d", plan->index_count, count);
        return false;
    }
    int tensors;
    const braid_dtype *types = bd_staging_area_types(a, &tensors);
    for (int i = 0; i < count; i++) {
        const int at = plan->index ? plan->index[i] : i;
        const braid_dtype want = types[at], got = plan->action == BD_STAGING_PUT
                                                      ? bd_input(c, plan->first + i)->dtype
                                                      : c->node->output_types[plan->first + i];
        if (want == got) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Tensor %d of staging area '%s' is %s, not %s", at,
                   bd_staging_area_name(a), braid_dtype_name(want), braid_dtype_name(got));
        return false;
    }
    return true;
}

static bool check_size(bd_op_ctx *c, const bd_staging_area *a, bd_staging_plan *plan)
{
    plan->bytes = 0;
    for (int i = 0; i < plan->index_count; i++)
        plan->bytes += (int64_t)bd_tensor_bytes(bd_input(c, plan->first + i));
    const int64_t limit = bd_staging_area_memory_limit(a);
    if (limit <= 0 || plan->bytes <= limit) return true;
    bd_op_fail(
        c, BRAID_RESOURCE_EXHAUSTED,
        "Attempted to insert tensors with combined size of '%lld' bytes into Staging Area with a memory limit "
        "of '%lld'.",
        (long long)plan->bytes, (long long)limit);
    return false;
}

// `key_input`: 0, or -1 if the op has no key; `index_input` likewise.
static void start(bd_op_ctx *c, bd_staging_action action, int key_input, int index_input, int first)
{
    bd_staging_area *a = bd_staging_area_of(c);
    if (!a) {
        bd_op_done(c);
        return;
    }
    bd_staging_plan plan = {.action = action, .has_key = key_input >= 0, .first = first};
    bd_staging_area_types(a, &plan.index_count);
    const bool puts = action == BD_STAGING_PUT, by_number = action == BD_STAGING_PEEK_AT;
    const int count = (puts ? c->input_count : c->output_count) - first;
    const bool ok = (key_input < 0 || by_number || read_key(c, &plan.key)) &&
                    (index_input < 0 || read_indices(c, a, index_input, &plan.index, &plan.index_count)) &&
                    check_types(c, a, &plan, count) && (!puts || check_size(c, a, &plan));
    if (by_number && ok) plan.key = bd_max(bd_tensor_i32(bd_input(c, 0))[0], 0);
    if (ok) {
        bd_staging_wait(a, c, &plan);
    } else {
        bd_free(plan.index);
        bd_op_done(c);
    }
    bd_staging_area_unref(a);
}

static void stage_start(bd_op_ctx *c)
{
    start(c, BD_STAGING_PUT, -1, -1, 0);
}
static void unstage_start(bd_op_ctx *c)
{
    start(c, BD_STAGING_TAKE_ANY, -1, -1, 0);
}
static void stage_peek_start(bd_op_ctx *c)
{
    if (bd_tensor_count(bd_input(c, 0)) == 1) {
        start(c, BD_STAGING_PEEK_AT, 0, -1, 0);
        return;
    }
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "index must be scalar");
    bd_op_done(c);
}
static void map_stage_start(bd_op_ctx *c)
{
    start(c, BD_STAGING_PUT, 0, 1, 2);
}
static void map_unstage_start(bd_op_ctx *c)
{
    start(c, BD_STAGING_TAKE, 0, 1, 0);
}
static void map_unstage_no_key_start(bd_op_ctx *c)
{
    start(c, BD_STAGING_TAKE_ANY, -1, 0, 1);
}
static void map_peek_start(bd_op_ctx *c)
{
    start(c, BD_STAGING_PEEK, 0, 1, 0);
}

static void put_size(bd_op_ctx *c, bool of_incomplete)
{
    bd_staging_area *a = bd_staging_area_of(c);
    if (!a) return;
    const braid_tensor *y = bd_output(c, 0, BRAID_INT32, &BD_SCALAR);
    if (y) bd_tensor_i32(y)[0] = (int32_t)bd_staging_area_count(a, of_incomplete);
    bd_staging_area_unref(a);
}

static void size_run(bd_op_ctx *c)
{
    put_size(c, false);
}
static void incomplete_size_run(bd_op_ctx *c)
{
    put_size(c, true);
}

static void clear_run(bd_op_ctx *c)
{
    bd_staging_area *a = bd_staging_area_of(c);
    if (!a) return;
    bd_staging_area_clear(a);
    bd_staging_area_unref(a);
}

// ---- Ops ----

static braid_code values_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = BD_SHAPE_UNKNOWN;
    return BRAID_OK;
}

static braid_code key_and_values_shape(bd_shape_ctx *c, braid_status *st)
{
    values_shape(c, st);
    c->outputs[0] = BD_SCALAR;
    return BRAID_OK;
}

#define LIMITS "capacity:int>=0=0; memory_limit:int>=0=0; "
#define NAMES "; container:string=''; shared_name:string=''"
#define SOME LIMITS "dtypes:list(type)>=1" NAMES
#define ANY LIMITS "dtypes:list(type)" NAMES
#define FAKE LIMITS "dtypes:list(type); fake_dtypes:list(type)>=1" NAMES
#define STAGING(SIGNATURE, ATTRS, SHAPE, KERNEL, DOC)                                                        \
    {                                                                                                        \
        .signature = (SIGNATURE), .attrs = ATTRS, .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,        \
        .shape = (SHAPE), .kernels = BD_KERNELS(KERNEL), .doc = (DOC)                                        \
    }
#define START(FN)                                                                                            \
    {                                                                                                        \
        .start = (FN)                                                                                        \
    }
#define RUN(FN)                                                                                              \
    {                                                                                                        \
        .run = (FN)                                                                                          \
    }

BD_OP(Stage) = STAGING("(values: dtypes...) -> ()", SOME, values_shape, START(stage_start),
                       "Puts a tuple into a staging area; waits while that is full.");
BD_OP(Unstage) = STAGING("() -> (values: dtypes...)", SOME, values_shape, START(unstage_start),
                         "Takes the oldest tuple out of a staging area; waits while there is none.");
BD_OP(StagePeek) =
    STAGING("(index: int32) -> (values: dtypes...)", SOME, values_shape, START(stage_peek_start),
            "The tuple of that number, from the oldest on, which stays; waits while there are not so many.");
BD_OP(StageSize) = STAGING("() -> (size: int32)", ANY, bd_shape_fn_scalar, RUN(size_run),
                           "How many tuples a staging area holds.");
BD_OP(StageClear) = STAGING("() -> ()", ANY, values_shape, RUN(clear_run), "Empties a staging area.");

#define MAP_STAGE                                                                                            \
    STAGING(                                                                                                 \
        "(key: int64, indices: int32, values: fake_dtypes...) -> ()", FAKE, values_shape,                    \
        START(map_stage_start),                                                                              \
        "Puts the tensors of a key that indices name into a map; the key is there when all are. Waits while the map is full.")
#define MAP_UNSTAGE                                                                                          \
    STAGING("(key: int64, indices: int32) -> (values: dtypes...)", SOME, values_shape,                       \
            START(map_unstage_start), "Takes tensors of a key out of a map; waits until the key is there.")
#define MAP_UNSTAGE_NO_KEY(DOC)                                                                              \
    STAGING("(indices: int32) -> (key: int64, values: dtypes...)", SOME, key_and_values_shape,               \
            START(map_unstage_no_key_start), DOC)
#define MAP_PEEK                                                                                             \
    STAGING("(key: int64, indices: int32) -> (values: dtypes...)", SOME, values_shape,                       \
            START(map_peek_start), "Tensors of a key of a map, which stay; waits until the key is there.")
#define MAP_SIZE                                                                                             \
    STAGING("() -> (size: int32)", ANY, bd_shape_fn_scalar, RUN(size_run),                                   \
            "How many keys of a map are complete.")
#define MAP_INCOMPLETE_SIZE                                                                                  \
    STAGING("() -> (size: int32)", ANY, bd_shape_fn_scalar, RUN(incomplete_size_run),                        \
            "How many keys of a map lack tensors.")
#define MAP_CLEAR STAGING("() -> ()", ANY, values_shape, RUN(clear_run), "Empties a map.")

BD_OP(MapStage) = MAP_STAGE;
BD_OP(MapUnstage) = MAP_UNSTAGE;
BD_OP(MapUnstageNoKey) =
    MAP_UNSTAGE_NO_KEY("Takes tensors of some key out of a map; waits while it is empty.");
BD_OP(MapPeek) = MAP_PEEK;
BD_OP(MapSize) = MAP_SIZE;
BD_OP(MapIncompleteSize) = MAP_INCOMPLETE_SIZE;
BD_OP(MapClear) = MAP_CLEAR;
BD_OP(OrderedMapStage) = MAP_STAGE;
BD_OP(OrderedMapUnstage) = MAP_UNSTAGE;
BD_OP(OrderedMapUnstageNoKey) =
    MAP_UNSTAGE_NO_KEY("Takes tensors of the least key out of a map; waits while it is empty.");
BD_OP(OrderedMapPeek) = MAP_PEEK;
BD_OP(OrderedMapSize) = MAP_SIZE;
BD_OP(OrderedMapIncompleteSize) = MAP_INCOMPLETE_SIZE;
BD_OP(OrderedMapClear) = MAP_CLEAR;
