// Snapshots of variables that other threads change by each kind of op: the value of a snapshot stays as it is
// while it is held, and is a state between two changes.
//
// Each change treats all elements alike. So a state between two changes has equal elements, unless changes
// without locks race with each other.
// labels: concurrent
// timeout: 120
#include "base/alloc.h"
#include "base/testing/test.h"
#include "base/thread.h"
#include <braid/braid.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 64
#define COLUMNS 80
#define VARIABLES_MAX 3
#define HELD 4     // snapshots held at a time
#define CHANGES 10 // that the snapshots of a case see
#define THREADS_MAX 2

// Inputs: v a variable, D a tensor of its shape, different in the two nodes of the op that run in turns, a
// number a scalar; i the indices of all rows; b, e, s the begin, end and strides of all elements.
typedef struct change {
    const char *op, *inputs;
    bool is_resource, may_lock;
} change;

static const change changes[] = {
    {"Assign", "v D", .may_lock = true},
    {"AssignAdd", "v D", .may_lock = true},
    {"AssignSub", "v D", .may_lock = true},
    {"ApplyGradientDescent", "v .1 D", .may_lock = true},
    {"ApplyMomentum", "v v .1 D .9", .may_lock = true},
    {"ApplyAdam", "v v v .9 .99 .01 .9 .99 1e-8 D", .may_lock = true},
    {"SparseApplyMomentum", "v v .1 D i .9", .may_lock = true},
    {"ScatterAdd", "v i D", .may_lock = true},
    {"ScatterUpdate", "v i D", .may_lock = true},
    {"StridedSliceAssign", "v b e s D", .may_lock = false},
    {"AssignVariableOp", "v D", .is_resource = true},
    {"AssignAddVariableOp", "v D", .is_resource = true},
    {"ResourceApplyGradientDescent", "v .1 D", .is_resource = true},
    {"ResourceApplyMomentum", "v v .1 D .9", .is_resource = true},
    {"ResourceApplyAdam", "v v v .9 .99 .01 .9 .99 1e-8 D", .is_resource = true},
    {"ResourceSparseApplyMomentum", "v v .1 D i .9", .is_resource = true},
    {"ResourceScatterAdd", "v i D", .is_resource = true},
    {"ResourceStridedSliceAssign", "v b e s D", .is_resource = true},
};

typedef struct model {
    braid_graph *g;
    braid_session *session;
    braid_op *init, *changes[2];
    braid_out values[VARIABLES_MAX]; // their snapshots
    int count;
    atomic_bool has_ended;
} model;

// ---- The graph ----

static braid_out ints(braid_graph *g, int32_t a, int32_t b)
{
    return braid_const_int32s(g, NULL, (int32_t[]){a, b}, 2);
}

static braid_out all_rows(braid_graph *g)
{
    int32_t rows[ROWS];
    for (int i = 0; i < ROWS; i++)
        rows[i] = i;
    return braid_const_int32s(g, NULL, rows, ROWS);
}

static braid_out dense(braid_graph *g, double value)
{
    return braid_full(g, NULL, BRAID_FLOAT, BRAID_SHAPE(ROWS, COLUMNS), value);
}

static braid_out variable(model *m, bool is_resource)
{
    char name[8];
    snprintf(name, sizeof name, "v%d", m->count);
    const braid_out zero = dense(m->g, 0);
    const braid_variable v = is_resource ? braid_variable_resource(m->g, name, zero, true)
                                         : braid_variable_new(m->g, name, zero, true);
    const braid_out content = is_resource ? v.read : v.ref;
    m->values[m->count++] = braid_output(braid_op_add(m->g, "Snapshot", NULL, &content, 1), 0);
    return v.ref;
}

static braid_out input_of(model *m, const char *token, int node, const braid_out *variables, int *used)
{
    switch (token[0]) {
    case 'v': return variables[(*used)++];
    case 'D': return dense(m->g, node + 1);
    case 'i': return all_rows(m->g);
    case 'b': return ints(m->g, 0, 0);
    case 'e': return ints(m->g, ROWS, COLUMNS);
    case 's': return ints(m->g, 1, 1);
    default: return braid_const_float(m->g, NULL, strtof(token, NULL));
    }
}

static braid_op *add_change(model *m, const change *c, bool locks, int node, const braid_out *variables)
{
    char text[64];
    braid_out inputs[12];
    int count = 0, used = 0;
    snprintf(text, sizeof text, "%s", c->inputs);
    char *rest = text;
    for (char *token; (token = strtok_r(rest, " ", &rest));)
        inputs[count++] = input_of(m, token, node, variables, &used);
    braid_op_desc *d = braid_op_begin(m->g, c->op, NULL);
    for (int i = 0; i < count; i++)
        braid_op_input(d, inputs[i]);
    if (c->may_lock) braid_op_attr_bool(d, "use_locking", locks);
    return braid_op_end(d);
}

static void open_model(model *m, const change *c, bool locks)
{
    BD_STATUS(st);
    *m = (model){.g = braid_graph_new()};
    braid_out variables[VARIABLES_MAX];
    for (int i = 0; c->inputs[2 * i] == 'v'; i++)
        variables[i] = variable(m, c->is_resource);
    for (int node = 0; node < 2; node++)
        m->changes[node] = add_change(m, c, locks, node, variables);
    m->init = braid_global_variables_initializer(m->g);
    m->session = braid_session_open(m->g, NULL, st);
    assert_ok(st);
    braid_session_run(m->session, &(braid_run_args){.targets = &m->init, .target_count = 1}, st);
    assert_ok(st);
}

// ---- Changing and taking snapshots ----

static void change_often(void *arg)
{
    model *m = arg;
    for (int i = 0; !m->has_ended; i++) {
        BD_STATUS(st);
        const braid_run_args args = {.targets = &m->changes[i % 2], .target_count = 1};
        braid_session_run(m->session, &args, st);
        BD_ASSERT(st->code == BRAID_OK); // cmocka's asserts work on the main thread only
    }
}

typedef struct held {
    braid_tensor *tensors[VARIABLES_MAX];
    float *copies[VARIABLES_MAX];
} held;

static void take(const model *m, held *h)
{
    BD_STATUS(st);
    braid_fetch fetches[VARIABLES_MAX];
    for (int i = 0; i < m->count; i++)
        fetches[i] = (braid_fetch){m->values[i], &h->tensors[i]};
    braid_session_run(m->session, &(braid_run_args){.fetches = fetches, .fetch_count = m->count}, st);
    assert_ok(st);
    for (int i = 0; i < m->count; i++)
        h->copies[i] = bd_memdup(braid_tensor_data(h->tensors[i]), ROWS * COLUMNS * sizeof(float));
}

static bool are_equal(const float *x)
{
    for (int i = 1; i < ROWS * COLUMNS; i++)
        if (x[i] != x[0]) return false;
    return true;
}

static void check_and_release(const model *m, held *h, const char *op, bool is_alone)
{
    for (int i = 0; i < m->count && h->tensors[i]; i++) {
        if (memcmp(h->copies[i], braid_tensor_data(h->tensors[i]), ROWS * COLUMNS * sizeof(float)) != 0)
            fail_msg("%s has changed the snapshot of variable %d", op, i);
        if (is_alone && !are_equal(h->copies[i])) fail_msg("%s: a snapshot in the middle of a change", op);
        braid_tensor_free(h->tensors[i]);
        bd_free(h->copies[i]);
    }
    *h = (held){0};
}

static void run_case(const change *c, bool locks, int thread_count)
{
    BD_STATUS(st);
    model m;
    bd_thread threads[THREADS_MAX];
    held ring[HELD] = {0};
    open_model(&m, c, locks);
    for (int i = 0; i < thread_count; i++)
        assert_int_equal(bd_thread_start(&threads[i], "changes", change_often, &m, st), BRAID_OK);
    float last = 0;
    for (int seen = 0, at = 0; seen < CHANGES; at = (at + 1) % HELD) {
        held *h = &ring[at];
        check_and_release(&m, h, c->op, locks || thread_count == 1);
        take(&m, h);
        if (h->copies[0][0] != last) seen++;
        last = h->copies[0][0];
    }
    m.has_ended = true;
    for (int i = 0; i < thread_count; i++)
        bd_thread_join(&threads[i]);
    for (int i = 0; i < HELD; i++)
        check_and_release(&m, &ring[i], c->op, locks || thread_count == 1);
    braid_session_close(m.session, NULL);
    braid_graph_free(m.g);
}

static void changes_under_locks_leave_snapshots_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(changes); i++)
        run_case(&changes[i], true, 2);
}

static void changes_without_locks_leave_snapshots_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(changes); i++)
        if (changes[i].may_lock) run_case(&changes[i], false, 2);
}

static void a_snapshot_is_not_taken_in_the_middle_of_a_change_without_a_lock(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(changes); i++)
        if (changes[i].may_lock) run_case(&changes[i], false, 1);
}

// ---- Without other threads ----

static void run(const model *m, int node)
{
    BD_STATUS(st);
    braid_session_run(m->session, &(braid_run_args){.targets = &m->changes[node], .target_count = 1}, st);
    assert_ok(st);
}

// Which memory a variable has from one snapshot to the next; `changes` of it are made between the two.
static void check_memory(bool is_resource, bool holds_first, int count, bool is_same)
{
    const change c = {is_resource ? "AssignAddVariableOp" : "AssignAdd", "v D", .is_resource = is_resource};
    model m;
    held first = {0}, second = {0};
    open_model(&m, &c, true);
    take(&m, &first);
    const void *memory = braid_tensor_data(first.tensors[0]);
    if (!holds_first) check_and_release(&m, &first, c.op, true);
    for (int i = 0; i < count; i++)
        run(&m, 0);
    take(&m, &second);
    assert_float_equal(second.copies[0][0], count, 0);
    assert_true((braid_tensor_data(second.tensors[0]) == memory) == is_same);
    check_and_release(&m, &first, c.op, true);
    check_and_release(&m, &second, c.op, true);
    braid_session_close(m.session, NULL);
    braid_graph_free(m.g);
}

static void a_snapshot_copies_nothing_and_the_next_change_only_while_it_is_held(void **state)
{
    (void)state;
    for (int is_resource = 0; is_resource < 2; is_resource++) {
        check_memory(is_resource, true, 0, true);
        check_memory(is_resource, true, 1, false);
        check_memory(is_resource, false, 1, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_under_locks_leave_snapshots_alone),
        cmocka_unit_test(changes_without_locks_leave_snapshots_alone),
        cmocka_unit_test(a_snapshot_is_not_taken_in_the_middle_of_a_change_without_a_lock),
        cmocka_unit_test(a_snapshot_copies_nothing_and_the_next_change_only_while_it_is_held),
    };
    return BD_RUN_TESTS(tests);
}
