// Graphs recorded from TensorFlow's own front end: they import, are kept as they are, and the gradients that
// TensorFlow 1.15 builds for them are built node by node by ours.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/testing/test.h"
#include "base/wire.h"
#include "graph/grad.h"
#include "graph/op.h"
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

static glob_t files;

static void *read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *len = (size_t)ftell(f);
    rewind(f);
    void *data = bd_malloc(*len);
    assert_int_equal(fread(data, 1, *len, f), *len);
    fclose(f);
    return data;
}

static braid_graph *import_file(const char *path)
{
    BD_STATUS(st);
    size_t len;
    void *data = read_file(path, &len);
    braid_graph *g = braid_graph_new();
    if (braid_graph_import(g, data, len, st)) fail_msg("%s: %s", path, braid_status_message(st));
    bd_free(data);
    return g;
}

// Same node: type, device, edges; attrs too, where one that is not given counts as its default.
static void assert_same_node(const braid_op *a, const braid_op *b)
{
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->op_type, b->op_type);
    assert_string_equal(a->device, b->device);
    if (a->input_count != b->input_count || a->control_count != b->control_count)
        fail_msg("%s: %d inputs and %d controls, want %d and %d", a->name, a->input_count, a->control_count,
                 b->input_count, b->control_count);
    for (int i = 0; i < a->input_count; i++) {
        if (strcmp(a->inputs[i].op->name, b->inputs[i].op->name) != 0 ||
            a->inputs[i].index != b->inputs[i].index)
            fail_msg("%s: input %d is %s:%d, want %s:%d", a->name, i, a->inputs[i].op->name,
                     a->inputs[i].index, b->inputs[i].op->name, b->inputs[i].index);
    }
    for (int i = 0; i < a->control_count; i++) { // TensorFlow writes them in the order of their names
        bool there = false;
        for (int k = 0; k < b->control_count; k++)
            there = there || strcmp(a->controls[i]->name, b->controls[k]->name) == 0;
        if (!there) fail_msg("%s: no control input %s", b->name, a->controls[i]->name);
    }
    assert_int_equal(a->attr_count, b->attr_count);
    for (int i = 0; i < a->attr_count; i++) {
        assert_string_equal(a->attrs[i].name, b->attrs[i].name);
        if (!bd_attr_equal(&a->attrs[i].value, &b->attrs[i].value))
            fail_msg("%s: attr %s differs", a->name, a->attrs[i].name);
    }
}

static void recorded_graphs_survive_a_round_trip(void **state)
{
    (void)state;
    BD_STATUS(st);
    for (size_t f = 0; f < files.gl_pathc; f++) {
        braid_graph *g = import_file(files.gl_pathv[f]), *back = braid_graph_new();
        size_t len;
        void *data = braid_graph_export(g, &len, st);
        assert_ok(st);
        assert_int_equal(len, bd_graph_write_size(g, 0, 0));
        braid_graph_import(back, data, len, st);
        assert_ok(st);
        assert_int_equal(back->nodes.len, g->nodes.len);
        assert_int_equal(back->producer, g->producer);
        for (size_t i = 0; i < g->nodes.len; i++)
            assert_same_node(back->nodes.items[i], g->nodes.items[i]);
        free(data);
        braid_graph_free(back);
        braid_graph_free(g);
    }
}

static void recorded_graphs_have_a_topological_order(void **state)
{
    (void)state;
    BD_STATUS(st);
    for (size_t f = 0; f < files.gl_pathc; f++) {
        braid_graph *g = import_file(files.gl_pathv[f]);
        bd_op_list order = {0};
        bd_graph_topological(g, &order, st);
        assert_ok(st);
        assert_int_equal(order.len, g->nodes.len);
        bd_array_free(&order);
        braid_graph_free(g);
    }
}

// ---- Gradients ----

// The forward part of a recorded graph: the nodes before its first gradient node. `then`: a file of nodes
// that follow it; NULL.
static braid_graph *import_forward(const char *path, const braid_graph *recorded, const char *then)
{
    BD_STATUS(st);
    size_t count = 0, len;
    while (count < recorded->nodes.len && strncmp(recorded->nodes.items[count]->name, "gradients/", 10) != 0)
        count++;
    void *data = read_file(path, &len);
    bd_slice slice;
    bd_wire_reader in = bd_wire_reader_block(&slice, data, len);
    uint32_t field;
    bd_wire_type type;
    for (size_t i = 0; i < count; i++) {
        assert_true(bd_wire_next(&in, &field, &type));
        assert_true(bd_wire_skip(&in, type));
    }
    size_t forward = len - in.left, more = 0;
    void *nodes = then ? read_file(then, &more) : NULL;
    char *all = bd_malloc(forward + more + 1);
    memcpy(all, data, forward);
    if (more > 0) memcpy(all + forward, nodes, more);
    braid_graph *g = braid_graph_new();
    braid_graph_import(g, all, forward + more, st);
    assert_ok(st);
    bd_free(all);
    bd_free(nodes);
    bd_free(data);
    return g;
}

// Programs that built one set of gradients: the loss, variables (up to a NULL) and the device they were built
// under.
static const struct {
    const char *file, *loss, *device;
    const char *vars[9];
} programs[] = {
    {"mnist_replica-async-1ps/worker0",
     "Neg",
     "/job:worker/task:0/cpu:0",
     {"hid_w", "hid_b", "sm_w", "sm_b"}},
    {"mnist_replica-async-1ps/worker1",
     "Neg",
     "/job:worker/task:1/cpu:0",
     {"hid_w", "hid_b", "sm_w", "sm_b"}},
    {"mnist_replica-sync-2ps/worker0", "Neg", "/job:worker/task:0/cpu:0", {"hid_w", "hid_b", "sm_w", "sm_b"}},
    {"hogwild_supervisor/worker0", "Mean", "/cpu:0", {"Variable", "Variable_1"}},
    {"sync_sgd/worker0", "Mean", "/job:worker/task:0/cpu:0", {"Variable", "Variable_1"}},
    {"downpour/worker0", "Mean", "/job:worker/replica:0/task:0", {"Variable", "Variable_1"}},
    {"local_then_global", "Abs", "/job:worker/task:0", {"a"}},
    {"deep_mnist_cnn/worker0",
     "Mean",
     "/job:worker/task:0",
     {"Variable", "Variable_1", "Variable_2", "Variable_3", "Variable_4", "Variable_5", "Variable_6",
      "Variable_7"}},
};

static bool all_ops_known(const braid_graph *g)
{
    for (size_t i = 0; i < g->nodes.len; i++) {
        if (!g->nodes.items[i]->def) return false;
    }
    return true;
}

// Checks that each node equals the recorded one of its name, and that none is missing.
static void assert_same_gradients(const braid_graph *g, const braid_graph *recorded, int from)
{
    for (int i = from; i < braid_graph_num_ops(g); i++) {
        const braid_op *n = braid_graph_op(g, i), *want = braid_graph_find(recorded, n->name);
        if (!want) fail_msg("too many: %s (%s)", n->name, n->op_type);
        assert_same_node(n, want);
    }
    for (int i = from; i < braid_graph_num_ops(recorded); i++) {
        const char *name = braid_graph_op(recorded, i)->name;
        if (!braid_graph_find(g, name)) fail_msg("missing: %s", name);
    }
}

// False when the program is not there, or uses ops that are not there yet.
static bool check_program(size_t which)
{
    char path[512], nodes[512];
    braid_out xs[8], grads[8];
    int count = 0;
    snprintf(path, sizeof path, "%s/golden/%s/sess0_graph0.pb", BD_TEST_DATA_DIR, programs[which].file);
    FILE *there = fopen(path, "rb");
    if (!there) return false;
    fclose(there);
    snprintf(nodes, sizeof nodes, "%s/golden/%s/gradients_1_15.nodes", BD_TEST_DATA_DIR,
             programs[which].file);
    braid_graph *recorded = import_file(path), *g = import_forward(path, recorded, NULL);
    braid_graph *want = import_forward(path, recorded, nodes);
    bool can = all_ops_known(g);
    int forward = braid_graph_num_ops(g);
    braid_out y = braid_graph_find_out(g, programs[which].loss);
    for (; programs[which].vars[count]; count++)
        xs[count] = braid_graph_find_out(g, programs[which].vars[count]);
    if (can) {
        BD_STATUS(st);
        braid_push_device(g, programs[which].device);
        braid_gradients(g, &y, 1, xs, count, NULL, grads);
        braid_pop_device(g);
        braid_graph_status(g, st);
        assert_ok(st);
        assert_same_gradients(g, want, forward);
        for (int i = 0; i < count; i++)
            assert_non_null(grads[i].op);
    }
    braid_graph_free(recorded);
    braid_graph_free(want);
    braid_graph_free(g);
    return can;
}

static void gradients_are_correct(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(programs); i++) {
        if (!check_program(i)) print_message("not compared: %s\n", programs[i].file);
    }
}

// ---- Size ----

// A long chain with wide control edges, about as large as a GraphDef gets.
static void import_is_fast(void **state)
{
    (void)state;
    enum {
        NODES = 10000
    };
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_out x = bd_b_const_f(g, NULL, BRAID_FLOAT, 1);
    for (int i = 1; i < NODES; i++)
        x = i % 2 ? bd_b1(g, "Identity", NULL, x) : bd_b2(g, "Mul", "m", x, x);
    size_t len;
    void *data = braid_graph_export(g, &len, st);
    assert_ok(st);
    int64_t best = INT64_MAX;
    for (int round = 0; round < 3; round++) {
        braid_graph *back = braid_graph_new();
        int64_t start = bd_now_ns();
        braid_graph_import(back, data, len, st);
        int64_t took = bd_now_ns() - start;
        assert_ok(st);
        assert_int_equal(braid_graph_num_ops(back), NODES);
        if (took < best) best = took;
        braid_graph_free(back);
    }
    print_message("%d nodes imported in %.1f ms\n", NODES, (double)best / 1e6);
    free(data);
    braid_graph_free(g);
}

int main(void)
{
    glob(BD_TEST_DATA_DIR "/golden/*/*.pb", 0, NULL, &files);
    glob(BD_TEST_DATA_DIR "/golden/*/*/*.pb", files.gl_pathc ? GLOB_APPEND : 0, NULL, &files);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_graphs_survive_a_round_trip),
        cmocka_unit_test(recorded_graphs_have_a_topological_order),
        cmocka_unit_test(gradients_are_correct),
        cmocka_unit_test(import_is_fast),
    };
    int failed = BD_RUN_TESTS(tests);
    globfree(&files);
    return failed;
}
