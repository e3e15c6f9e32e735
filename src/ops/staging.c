// Staging areas: Stage and MapStage with their kin, which hand tuples of tensors from one step to others.
//
// An area keeps complete entries and such as lack some tensors yet, both sorted by key. Stage numbers its entries itself, so that the
// one with the least key is the oldest. Attempts to put stand in one line, in turn; those who take or peek in another, of which whoever
// finds what it wants is served: they may want different keys.
#include "base/alloc.h"
#include "base/array.h"
#include "ops/element.h"
#include "ops/waiting.h"

#include "graph/shape_fn.h"
#include <string.h>

// ---- The area ----

typedef struct entry {
    int64_t key;
    braid_tensor *tensors; // [count of the area's types]; "no tensor": not there (yet, or any more)
} entry;

typedef BD_ARRAY(entry) entry_list;

typedef struct area_options {
    const char *name;
    int64_t capacity, memory_limit; // 0: none; entries, and bytes of all tensors
    const braid_dtype *types;       // [count]
    int count;
} area_options;

typedef struct area {
    bd_resource base;
    bd_wait_room room;
    area_options options;            // strings and arrays are owned
    bd_wait_line puts, takes;        // guarded by room.mu, as all below
    entry_list complete, incomplete; // sorted by key
    int64_t bytes, next_key;
} area;

// The place of a key, or where it belongs.
static size_t place_of(const entry_list *list, int64_t key)
{
    size_t from = 0, to = list->len;
    BD_ASSERT(list->items || to == 0);
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (list->items[middle].key < key)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static entry *find(const entry_list *list, int64_t key)
{
    const size_t at = place_of(list, key);
    return at < list->len && list->items && list->items[at].key == key ? &list->items[at] : NULL;
}

static entry *insert(entry_list *list, entry e)
{
    const size_t at = place_of(list, e.key);
    bd_array_reserve(list, list->len + 1);
    memmove(&list->items[at + 1], &list->items[at], (list->len - at) * sizeof e);
    list->items[at] = e;
    list->len++;
    return &list->items[at];
}

static entry take_out(entry_list *list, entry *e)
{
    const entry taken = *e;
    const size_t at = (size_t)(e - list->items);
    memmove(e, e + 1, (list->len - at - 1) * sizeof *e);
    list->len--;
    return taken;
}

static void entry_fini(const area *a, entry *e)
{
    for (int i = 0; i < a->options.count; i++)
        bd_tensor_fini(&e->tensors[i]);
    bd_free(e->tensors);
}

static void clear(const area *a, entry_list *list)
{
    for (size_t i = 0; i < list->len; i++)
        entry_fini(a, &list->items[i]);
    list->len = 0;
}

static int tensors_in(const area *a, const entry *e)
{
    int count = 0;
    for (int i = 0; i < a->options.count; i++)
        count += bd_tensor_is_set(&e->tensors[i]);
    return count;
}

static int64_t bytes_in(const area *a, const entry *e)
{
    int64_t bytes = 0;
    for (int i = 0; i < a->options.count; i++) {
        if (bd_tensor_is_set(&e->tensors[i])) bytes += (int64_t)bd_tensor_bytes(&e->tensors[i]);
    }
    return bytes;
}

// ---- Waiters ----

typedef enum staging_action {
    PUT,
    TAKE,     // the key's
    TAKE_ANY, // of the least key
    PEEK,     // the key's
    PEEK_AT   // the entry of that number
} staging_action;

typedef struct staging_waiter {
    bd_waiter base;
    staging_action action;
    bool has_key;    // of a PUT: else the area numbers it
    int64_t key;     // or number
    int64_t bytes;   // of a PUT
    int32_t *index;  // which tensors [index_count]; NULL: all in order; owned
    int index_count; // of a PUT, as many inputs from `first` on
    int first;       // input of a PUT, output of the others
    BD_ARRAY(braid_tensor) tuple;
} staging_waiter;

static staging_waiter *waiter_of(bd_waiter *w)
{
    return BD_CONTAINER_OF(w, staging_waiter, base);
}

static int index_at(const staging_waiter *w, int i)
{
    return w->index ? w->index[i] : i;
}

// ---- Putting ----

static bool is_full_locked(const area *a, const staging_waiter *w)
{
    const area_options *o = &a->options;
    const bool completes = w->index_count == o->count;
    return (completes && o->capacity > 0 && (int64_t)a->complete.len >= o->capacity) ||
           (o->memory_limit > 0 && a->bytes + w->bytes > o->memory_limit);
}

// False: the execution has failed.
static bool fill_locked(const area *a, const entry *e, const staging_waiter *w)
{
    for (int i = 0; i < w->index_count; i++) {
        braid_tensor *t = &e->tensors[index_at(w, i)];
        if (!bd_tensor_is_set(t)) continue;
        bd_op_fail(w->base.c, BRAID_INVALID_ARGUMENT,
                   "The tensor for index '%d' for key '%lld' was already initialized '%d'.", index_at(w, i),
                   (long long)e->key, a->options.count);
        return false;
    }
    for (int i = 0; i < w->index_count; i++) {
        if (bd_tensor_keep(&e->tensors[index_at(w, i)], bd_input(w->base.c, w->first + i))) continue;
        while (i-- > 0)
            bd_tensor_fini(&e->tensors[index_at(w, i)]);
        bd_op_fail(w->base.c, BRAID_RESOURCE_EXHAUSTED, "OOM when staging a tensor");
        return false;
    }
    return true;
}

static entry new_entry(const area *a, int64_t key)
{
    return (entry){.key = key, .tensors = bd_calloc((size_t)a->options.count, sizeof(braid_tensor))};
}

// A key that is there stays as it is.
static void complete_locked(area *a, entry *done)
{
    if (!find(&a->complete, done->key)) {
        insert(&a->complete, *done);
        return;
    }
    a->bytes -= bytes_in(a, done);
    entry_fini(a, done);
}

// All tensors of a key at once; what there is of it in part has no part in it.
static void put_whole_locked(area *a, staging_waiter *w, int64_t key)
{
    entry e = new_entry(a, key);
    if (fill_locked(a, &e, w)) {
        a->bytes += w->bytes;
        complete_locked(a, &e);
    } else {
        entry_fini(a, &e);
    }
}

static void put_locked(area *a, staging_waiter *w)
{
    const int64_t key = w->has_key ? w->key : a->next_key++;
    if (w->index_count == a->options.count) {
        put_whole_locked(a, w, key);
        return;
    }
    entry *e = find(&a->incomplete, key);
    if (!e) e = insert(&a->incomplete, new_entry(a, key));
    const bool was_empty = tensors_in(a, e) == 0;
    const bool ok = fill_locked(a, e, w);
    if (ok) a->bytes += w->bytes;
    if ((!ok && was_empty) || tensors_in(a, e) == a->options.count) {
        entry done = take_out(&a->incomplete, e);
        if (ok)
            complete_locked(a, &done);
        else
            entry_fini(a, &done);
    }
}

// ---- Taking ----

static entry *wanted_locked(const area *a, const staging_waiter *w)
{
    switch (w->action) {
    case TAKE_ANY: return a->complete.len > 0 ? &a->complete.items[0] : NULL;
    case PEEK_AT: return (int64_t)a->complete.len > w->key ? &a->complete.items[w->key] : NULL;
    default: return find(&a->complete, w->key);
    }
}

static void take_locked(area *a, staging_waiter *w, entry *e)
{
    w->key = e->key;
    for (int i = 0; i < w->index_count; i++) {
        if (bd_tensor_is_set(&e->tensors[index_at(w, i)])) continue;
        bd_op_fail(w->base.c, BRAID_INVALID_ARGUMENT,
                   "Tensor at index '%d' for key '%lld' has already been removed.", index_at(w, i),
                   (long long)e->key);
        return;
    }
    const bool keeps = w->action == PEEK || w->action == PEEK_AT;
    for (int i = 0; i < w->index_count; i++) {
        braid_tensor *from = &e->tensors[index_at(w, i)], out;
        bd_tensor_ref(&out, from);
        bd_array_push(&w->tuple, out);
        if (keeps) continue;
        a->bytes -= (int64_t)bd_tensor_bytes(from);
        bd_tensor_fini(from);
    }
    if (keeps || tensors_in(a, e) > 0) return;
    entry empty = take_out(&a->complete, e);
    entry_fini(a, &empty);
}

// ---- Serving ----

static bool serve_takes_locked(area *a)
{
    for (bd_waiter *base = a->takes.first; base; base = base->next) {
        entry *e = wanted_locked(a, waiter_of(base));
        if (!e) continue;
        take_locked(a, waiter_of(base), e);
        bd_waiter_end_locked(base);
        return true; // the line has changed
    }
    return false;
}

static bool serve_puts_locked(area *a)
{
    bd_waiter *base = a->puts.first;
    if (!base || is_full_locked(a, waiter_of(base))) return false;
    put_locked(a, waiter_of(base));
    bd_waiter_end_locked(base);
    return true;
}

static void serve_locked(bd_wait_room *room)
{
    area *a = BD_CONTAINER_OF(room, area, room);
    while (serve_puts_locked(a) || serve_takes_locked(a)) {}
}

static void finish(bd_waiter *base)
{
    staging_waiter *w = waiter_of(base);
    bd_op_ctx *c = base->c;
    const bool ok = !bd_op_failed(c) && w->action != PUT;
    for (size_t i = 0; i < w->tuple.len; i++) {
        if (ok) bd_output_set(c, w->first + (int)i, &w->tuple.items[i]);
        bd_tensor_fini(&w->tuple.items[i]);
    }
    w->tuple.len = 0;
    bd_free(w->index);
    w->index = NULL;
    const braid_tensor *key = ok && w->first == 1 ? bd_output(c, 0, BRAID_INT64, &BD_SCALAR) : NULL;
    if (key) bd_tensor_i64(key)[0] = w->key;
}

static void destroy_waiter(bd_waiter *w)
{
    bd_array_free(&waiter_of(w)->tuple);
}

static const bd_wait_kind wait_kind = {.waiter_size = sizeof(staging_waiter),
                                       .serve_locked = serve_locked,
                                       .finish = finish,
                                       .destroy = destroy_waiter};

// ---- The resource ----

static void destroy(bd_resource *r)
{
    area *a = BD_CONTAINER_OF(r, area, base);
    clear(a, &a->complete);
    clear(a, &a->incomplete);
    bd_array_free(&a->complete);
    bd_array_free(&a->incomplete);
    bd_wait_room_fini(&a->room);
    bd_free((char *)a->options.name);
    bd_free((void *)a->options.types);
    bd_free(a);
}

static void abandon(bd_resource *r)
{
    area *a = BD_CONTAINER_OF(r, area, base);
    bd_resource_ref(r);
    bd_wait_room_lock(&a->room);
    bd_wait_line_cancel_locked(&a->room, &a->puts);
    bd_wait_line_cancel_locked(&a->room, &a->takes);
    bd_wait_room_unlock(&a->room);
    bd_resource_unref(r);
}

static const bd_resource_type area_type = {.name = "StagingArea", .destroy = destroy, .abandon = abandon};

static braid_code create_area(void *arg, bd_resource **out, braid_status *st)
{
    (void)st;
    const area_options *o = arg;
    area *a = bd_calloc(1, sizeof *a);
    bd_resource_init(&a->base, &area_type);
    bd_wait_room_init(&a->room, &wait_kind, &a->base);
    a->options = *o;
    a->options.name = bd_strdup(o->name);
    a->options.types = bd_memdup(o->types, (size_t)o->count * sizeof *o->types);
    a->puts.what = "Stage";
    a->takes.what = "Unstage";
    *out = &a->base;
    return BRAID_OK;
}

// The area that the node names, by its own name when by no other. The first node that runs makes it. The caller gives the reference
// back; NULL: the kernel has failed.
static area *area_of(bd_op_ctx *c)
{
    const braid_op *n = c->node;
    const char *container = bd_node_attr_string(n, "container"),
               *shared = bd_node_attr_string(n, "shared_name");
    const bd_attr *types = bd_node_attr(n, "dtypes");
    area_options o = {.name = shared[0] ? shared : n->name,
                      .capacity = bd_node_attr_int(n, "capacity"),
                      .memory_limit = bd_node_attr_int(n, "memory_limit"),
                      .types = types->list.type,
                      .count = types->list.count};
    bd_resource *r;
    BD_STATUS(st);
    if (bd_resources_lookup_or_create(c->step->resources, container[0] ? container : BD_DEFAULT_CONTAINER,
                                      o.name, &area_type, create_area, &o, &r, st)) {
        bd_op_fail_status(c, st);
        return NULL;
    }
    return BD_CONTAINER_OF(r, area, base);
}

// ---- Kernels ----

static bool check_indices(bd_op_ctx *c, const area *a, const int32_t *index, int count)
{
    if (count == 0) bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Indices are empty");
    for (int k = 0; k < count && !bd_op_failed(c); k++) {
        if (index[k] < 0 || index[k] >= a->options.count) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Index '%d' was out of bounds '%d'.", index[k],
                       a->options.count);
        } else if (k > 0 && index[k] <= index[k - 1]) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Indices are not strictly ordered");
        }
    }
    return !bd_op_failed(c);
}

// The indices in input `i`, which must be of the area's tensors and rise: a copy (the caller frees it), as others may write to a
// reference while this waits. False: the kernel has failed.
static bool read_indices(bd_op_ctx *c, const area *a, int i, int32_t **index, int *count)
{
    const braid_tensor *t = bd_input(c, i);
    *count = (int)bd_min(bd_tensor_count(t), a->options.count + 1); // one more than fit is refused
    *index = bd_memdup(bd_tensor_i32(t), (size_t)*count * sizeof **index);
    return check_indices(c, a, *index, *count);
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

static bool check_types(bd_op_ctx *c, const area *a, const staging_waiter *w, int count)
{
    if (count != w->index_count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Mismatch stage/unstage: %d vs. %d", w->index_count, count);
        return false;
    }
    for (int i = 0; i < count; i++) {
        const braid_dtype want = a->options.types[index_at(w, i)],
                          got = w->action == PUT ? bd_input(c, w->first + i)->dtype
                                                 : c->node->output_types[w->first + i];
        if (want == got) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Tensor %d of staging area '%s' is %s, not %s", index_at(w, i),
                   a->options.name, braid_dtype_name(want), braid_dtype_name(got));
        return false;
    }
    return true;
}

static bool check_size(bd_op_ctx *c, const area *a, staging_waiter *w)
{
    w->bytes = 0;
    for (int i = 0; i < w->index_count; i++)
        w->bytes += (int64_t)bd_tensor_bytes(bd_input(c, w->first + i));
    if (a->options.memory_limit <= 0 || w->bytes <= a->options.memory_limit) return true;
    bd_op_fail(
        c, BRAID_RESOURCE_EXHAUSTED,
        "Attempted to insert tensors with combined size of '%lld' bytes into Staging Area with a memory limit "
        "of '%lld'.",
        (long long)w->bytes, (long long)a->options.memory_limit);
    return false;
}

// `key_input`: 0, or -1 when there is none; `index_input` likewise.
static void start(bd_op_ctx *c, staging_action action, int key_input, int index_input, int first)
{
    area *a = area_of(c);
    if (!a) {
        bd_op_done(c);
        return;
    }
    staging_waiter plan = {
        .action = action, .has_key = key_input >= 0, .index_count = a->options.count, .first = first};
    const int count = (action == PUT ? c->input_count : c->output_count) - first;
    const bool ok = (key_input < 0 || action == PEEK_AT || read_key(c, &plan.key)) &&
                    (index_input < 0 || read_indices(c, a, index_input, &plan.index, &plan.index_count)) &&
                    check_types(c, a, &plan, count) && (action != PUT || check_size(c, a, &plan));
    if (action == PEEK_AT && ok) plan.key = bd_max(bd_tensor_i32(bd_input(c, 0))[0], 0);
    if (!ok) {
        bd_free(plan.index);
        bd_op_done(c);
    } else {
        staging_waiter *w = waiter_of(bd_waiter_new(&a->room, c));
        plan.base = w->base;
        plan.tuple.items = w->tuple.items;
        plan.tuple.cap = w->tuple.cap;
        *w = plan;
        bd_wait(&w->base, action == PUT ? &a->puts : &a->takes);
    }
    bd_resource_unref(&a->base);
}

static void stage_start(bd_op_ctx *c)
{
    start(c, PUT, -1, -1, 0);
}
static void unstage_start(bd_op_ctx *c)
{
    start(c, TAKE_ANY, -1, -1, 0);
}
static void stage_peek_start(bd_op_ctx *c)
{
    if (bd_tensor_count(bd_input(c, 0)) == 1) {
        start(c, PEEK_AT, 0, -1, 0);
        return;
    }
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "index must be scalar");
    bd_op_done(c);
}
static void map_stage_start(bd_op_ctx *c)
{
    start(c, PUT, 0, 1, 2);
}
static void map_unstage_start(bd_op_ctx *c)
{
    start(c, TAKE, 0, 1, 0);
}
static void map_unstage_no_key_start(bd_op_ctx *c)
{
    start(c, TAKE_ANY, -1, 0, 1);
}
static void map_peek_start(bd_op_ctx *c)
{
    start(c, PEEK, 0, 1, 0);
}

static void put_size(bd_op_ctx *c, bool of_incomplete)
{
    area *a = area_of(c);
    if (!a) return;
    const braid_tensor *y = bd_output(c, 0, BRAID_INT32, &BD_SCALAR);
    bd_wait_room_lock(&a->room);
    if (y) bd_tensor_i32(y)[0] = (int32_t)(of_incomplete ? a->incomplete.len : a->complete.len);
    bd_wait_room_unlock(&a->room);
    bd_resource_unref(&a->base);
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
    area *a = area_of(c);
    if (!a) return;
    bd_wait_room_lock(&a->room);
    clear(a, &a->complete);
    clear(a, &a->incomplete);
    a->bytes = 0;
    bd_wait_room_unlock(&a->room); // who waits to put is served
    bd_resource_unref(&a->base);
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
