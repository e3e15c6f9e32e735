// Readers. The states of an execution:
//
//   waits in the waitlist -> owns the turn -> (reads from disk or waits for the queue)* -> gives up the turn
//   and ends
//
// The waits are made by executions of their own (`part`): the wait queue, the I/O threads and the queue see
// them as kernels. They share node and step with the real execution, and the next state is their `done`. Each
// part ends exactly once, so the turn is given up exactly once.
#include "ops/data_flow/reader.h"

#include "base/alloc.h"
#include "op/io_pool.h"

#include <string.h>

typedef struct turn turn;
struct turn {
    bd_op_ctx part; // the wait that is on; first member
    bd_value name;  // the element that the queue gave
    bd_op_ctx *c;   // of the kernel
    bd_reader *r;   // owned references
    bd_queue *q;    // NULL unless it reads
    void (*act)(bd_reader *r, bd_op_ctx *c);
    int64_t wanted; // records
    bool many, needs_file;
    bd_record *records; // owned; [count]
    int64_t count, cap;
};

// ---- The resource ----

static void destroy(bd_resource *base)
{
    bd_reader *r = BD_CONTAINER_OF(base, bd_reader, base);
    if (r->kind->close) r->kind->close(r->state);
    bd_wait_queue_fini(&r->wait_queue);
    bd_free(r->name);
    bd_free(r->work);
    bd_free(r->state);
    bd_free(r);
}

static void abandon(bd_resource *base)
{
    bd_reader *r = BD_CONTAINER_OF(base, bd_reader, base);
    bd_resource_ref(base);
    bd_wait_queue_lock(&r->wait_queue);
    bd_waitlist_cancel_locked(&r->wait_queue, &r->turns);
    bd_wait_queue_unlock(&r->wait_queue);
    bd_resource_unref(base);
}

const bd_resource_type bd_reader_type = {.name = "Reader", .destroy = destroy, .abandon = abandon};

static void serve_locked(bd_wait_queue *wait_queue)
{
    bd_reader *r = BD_CONTAINER_OF(wait_queue, bd_reader, wait_queue);
    if (r->is_taken || !r->turns.first) return;
    r->is_taken = true;
    bd_waiter_end_locked(r->turns.first);
}

static void finish_waiter(bd_waiter *w)
{
    (void)w;
}

static const bd_wait_kind wait_kind = {
    .waiter_size = sizeof(bd_waiter), .serve_locked = serve_locked, .finish = finish_waiter};

bd_reader *bd_reader_new(const bd_reader_kind *kind, const char *name, const void *options)
{
    bd_reader *r = bd_calloc(1, sizeof *r);
    bd_resource_init(&r->base, &bd_reader_type);
    bd_wait_queue_init(&r->wait_queue, &wait_kind, &r->base);
    r->turns.what = "Reader";
    r->kind = kind;
    r->name = bd_strdup(name);
    r->state = bd_calloc(1, kind->state_size + 1);
    if (kind->options_size > 0) memcpy(r->state, options, kind->options_size);
    return r;
}

void bd_reader_counts(bd_reader *r, int64_t *produced, int64_t *works_finished)
{
    bd_mutex_lock(&r->wait_queue.mu);
    *produced = r->produced;
    *works_finished = r->works_finished;
    bd_mutex_unlock(&r->wait_queue.mu);
}

void bd_reader_reset(bd_reader *r)
{
    bd_reader_set_state(r, 0, 0, 0, NULL);
}

void bd_reader_set_state(bd_reader *r, int64_t works_started, int64_t works_finished, int64_t produced,
                         const char *work)
{
    if (r->kind->close) r->kind->close(r->state);
    bd_free(r->work);
    r->work = work ? bd_strdup(work) : NULL;
    bd_mutex_lock(&r->wait_queue.mu);
    r->works_started = works_started;
    r->works_finished = works_finished;
    r->produced = produced;
    bd_mutex_unlock(&r->wait_queue.mu);
}

// ---- Turns ----

static void free_record(bd_record *record)
{
    bd_free(record->key.data);
    bd_free(record->value.data);
}

// Gives the turn back, if it was given, and ends the execution.
static void end_turn(turn *t, bool has_turn)
{
    bd_op_ctx *c = t->c;
    bd_reader *r = t->r;
    if (t->part.status.code) bd_op_fail_status(c, &t->part.status);
    if (has_turn) {
        bd_wait_queue_lock(&r->wait_queue);
        r->is_taken = false;
        bd_wait_queue_unlock(&r->wait_queue);
    }
    for (int64_t i = 0; i < t->count; i++)
        free_record(&t->records[i]);
    bd_free(t->records);
    bd_value_fini(&t->name);
    bd_status_fini(&t->part.status);
    if (t->q) bd_resource_unref(&t->q->base);
    bd_resource_unref(&r->base);
    bd_free(t);
    bd_op_done(c);
}

static turn *turn_of(bd_op_ctx *part)
{
    return BD_CONTAINER_OF(part, turn, part);
}

static void start_turn(bd_reader *r, bd_op_ctx *c, const turn *how, void (*then)(bd_op_ctx *part))
{
    turn *t = bd_malloc(sizeof *t);
    *t = *how;
    t->c = c;
    t->r = r;
    t->part =
        (bd_op_ctx){.node = c->node, .step = c->step, .outputs = &t->name, .output_count = 1, .done = then};
    bd_resource_ref(&r->base);
    bd_wait(bd_waiter_new(&r->wait_queue, &t->part), &r->turns);
}

// ---- Acting ----

static void acted(bd_op_ctx *part)
{
    end_turn(turn_of(part), true);
}

static void act(bd_op_ctx *part)
{
    turn *t = turn_of(part);
    t->act(t->r, t->c);
}

static void act_in_turn(bd_op_ctx *part)
{
    turn *t = turn_of(part);
    if (bd_op_failed(part)) {
        end_turn(t, false);
        return;
    }
    part->done = acted;
    bd_op_run_io(part, act);
}

void bd_reader_act(bd_reader *r, bd_op_ctx *c, void (*fn)(bd_reader *r, bd_op_ctx *c))
{
    start_turn(r, c, &(turn){.act = fn}, act_in_turn);
}

// ---- Reading ----

static bool has_work(bd_reader *r)
{
    bd_mutex_lock(&r->wait_queue.mu);
    bool has = r->works_started > r->works_finished;
    bd_mutex_unlock(&r->wait_queue.mu);
    return has;
}

static void count_work(bd_reader *r, bool has_ended)
{
    bd_mutex_lock(&r->wait_queue.mu);
    if (has_ended)
        r->works_finished = r->works_started;
    else
        r->works_started++;
    bd_mutex_unlock(&r->wait_queue.mu);
}

// Starts with the file whose name the queue gave.
static bool begin_work(turn *t)
{
    bd_reader *r = t->r;
    const bd_string *s = bd_tensor_str(&t->name.tensor);
    BD_STATUS(st);
    bd_free(r->work);
    r->work = bd_strndup(s->data ? s->data : "", s->len);
    bd_value_fini(&t->name);
    if (r->kind->open && r->kind->open(r->state, bd_op_fs(t->c), r->work, st)) {
        bd_op_fail_status(&t->part, st);
        return false;
    }
    count_work(r, false);
    return true;
}

static void end_work(bd_reader *r)
{
    if (r->kind->close) r->kind->close(r->state);
    count_work(r, true);
}

// Makes room for one more record. A caller may ask for many records and get few.
static bool grow_records(turn *t)
{
    if (t->count < t->cap) return true;
    int64_t cap = t->cap ? t->cap * 2 : 1;
    bd_record *records = bd_try_realloc(t->records, (size_t)cap * sizeof *records);
    if (!records) {
        bd_op_fail(&t->part, BRAID_RESOURCE_EXHAUSTED, "OOM when reading more than %lld records",
                   (long long)t->count);
        return false;
    }
    t->records = records;
    t->cap = cap;
    return true;
}

static bool read_record(turn *t, bool *is_last)
{
    bd_reader *r = t->r;
    bd_record record = {0};
    bool found = false;
    BD_STATUS(st);
    *is_last = false;
    if (!grow_records(t)) return false;
    if (r->kind->read(r->state, bd_op_fs(t->c), r->work, &record, &found, is_last, st)) {
        bd_op_fail_status(&t->part, st);
        return false;
    }
    if (!found) return true;
    t->records[t->count++] = record;
    bd_mutex_lock(&r->wait_queue.mu);
    r->produced++;
    bd_mutex_unlock(&r->wait_queue.mu);
    return true;
}

// On an I/O thread: reads until there are enough records, or the file ends after some, or the next file is
// needed.
static void read_records(bd_op_ctx *part)
{
    turn *t = turn_of(part);
    t->needs_file = false;
    if (bd_tensor_is_set(&t->name.tensor) && !begin_work(t)) return;
    while (t->count < t->wanted) {
        bool is_last;
        t->needs_file = !has_work(t->r);
        if (t->needs_file || bd_op_cancelled(part) || !read_record(t, &is_last)) return;
        if (!is_last) continue;
        end_work(t->r);
        if (t->count > 0) return;
    }
}

// Outputs 0 and 1. The strings move into the tensors.
static void output_records(turn *t)
{
    braid_shape shape = t->many ? bd_shape1(t->count) : BD_SCALAR;
    braid_tensor *keys = bd_output(t->c, 0, BRAID_STRING, &shape),
                 *values = bd_output(t->c, 1, BRAID_STRING, &shape);
    if (!keys || !values) return;
    for (int64_t i = 0; i < t->count; i++) {
        bd_tensor_str(keys)[i] = t->records[i].key;
        bd_tensor_str(values)[i] = t->records[i].value;
    }
    t->count = 0;
}

static void got_name(bd_op_ctx *part);

static void have_read(bd_op_ctx *part)
{
    turn *t = turn_of(part);
    if (!bd_op_failed(part) && t->needs_file) {
        part->done = got_name;
        bd_queue_dequeue(t->q, part);
        return;
    }
    if (!bd_op_failed(part)) output_records(t);
    end_turn(t, true);
}

static void read_on(turn *t)
{
    t->part.done = have_read;
    bd_op_run_io(&t->part, read_records);
}

static void got_name(bd_op_ctx *part)
{
    turn *t = turn_of(part);
    const braid_tensor *name = &t->name.tensor;
    if (!bd_op_failed(part) && bd_tensor_count(name) != 1)
        bd_op_fail(part, BRAID_INVALID_ARGUMENT,
                   "Expected to dequeue a one-element string tensor, not one of shape %s",
                   bd_shape_str(&name->shape, (char[BD_SHAPE_STR_MAX]){0}));
    if (bd_op_failed(part))
        end_turn(t, true);
    else
        read_on(t);
}

static void read_in_turn(bd_op_ctx *part)
{
    turn *t = turn_of(part);
    if (bd_op_failed(part))
        end_turn(t, false);
    else
        read_on(t);
}

void bd_reader_read(bd_reader *r, bd_queue *q, bd_op_ctx *c, int64_t count, bool many)
{
    if (q->options.component_count != 1 || q->options.types[0] != BRAID_STRING) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected queue with single string component, not %d of which the first is %s",
                   q->options.component_count,
                   q->options.component_count > 0 ? braid_dtype_name(q->options.types[0]) : "nothing");
        bd_op_done(c);
        return;
    }
    bd_resource_ref(&q->base);
    start_turn(r, c, &(turn){.q = q, .wanted = count, .many = many}, read_in_turn);
}
