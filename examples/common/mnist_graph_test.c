// mnist_replica builds, node for node, the graph that TensorFlow 1.3's own program built (as it was recorded), but for
// what saves and restores checkpoints.
// The program itself, before cmocka and its short names.
#define main mnist_replica_main
#include "../mnist_replica.c" // NOLINT(bugprone-suspicious-include)
#undef main

#include "base/testing/test.h"

#include "base/strbuf.h"
#include "graph/graph.h"
#include "train/bootstrap.h"

#define RECORDED BD_SHARED_DIR "/golden/%s/worker0/sess0_graph0.pb"

// Reads a recorded graph; ends the program as skipped when it is not there.
static braid_graph *recorded_graph(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, RECORDED, name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        printf("SKIPPED: no %s\n", path);
        exit(BD_TEST_SKIPPED);
    }
    static char data[1 << 20];
    size_t len = fread(data, 1, sizeof data, file);
    fclose(file);
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_graph_import(g, data, len, st);
    assert_ok(st);
    return g;
}

// What a worker builds, with what the monitored session adds.
static braid_graph *built_graph(const char *ps_hosts)
{
    BD_STATUS(st);
    braid_cluster *cluster = braid_cluster_from_hosts(ps_hosts, "localhost:2223,localhost:2224", st);
    assert_ok(st);
    braid_graph *g = braid_graph_new();
    braid_device_setter_options options = {.worker_device = "/job:worker/task:0/cpu:0",
                                           .ps_device = "/job:ps/cpu:0"};
    braid_push_device_setter(g, braid_replica_device_setter(g, cluster, &options));
    build_model(g);
    train_bootstrap_build(&(train_bootstrap){.is_chief = true}, g);
    braid_graph_status(g, st);
    assert_ok(st);
    braid_cluster_free(cluster);
    return g;
}

// "a:1 b ^c ^d", control inputs sorted.
static char *inputs_of(const braid_op *n)
{
    bd_strbuf text = {0};
    for (int i = 0; i < n->input_count; i++)
        bd_strbuf_appendf(&text, "%s:%d ", n->inputs[i].op->name, n->inputs[i].index);
    const char *last = "";
    for (int i = 0; i < n->control_count; i++) { // the next in alphabetical order
        const char *next = NULL;
        for (int k = 0; k < n->control_count; k++) {
            const char *name = n->controls[k]->name;
            if (strcmp(name, last) > 0 && (!next || strcmp(name, next) < 0)) next = name;
        }
        if (next) bd_strbuf_appendf(&text, "^%s ", next);
        last = next ? next : last;
    }
    return bd_strbuf_take(&text);
}

// Prints a difference and counts it.
static void differ(int *differences, const char *name, const char *what, const char *got, const char *want)
{
    print_error("%s: %s is '%s' and not '%s'\n", name, what, got, want);
    (*differences)++;
}

static void compare_attrs(int *differences, const braid_op *got, const braid_op *want)
{
    for (int i = 0; i < want->attr_count; i++) {
        const bd_attr *value = bd_node_attr(got, want->attrs[i].name);
        if (!value || !bd_attr_equal(value, &want->attrs[i].value))
            differ(differences, got->name, want->attrs[i].name, value ? "another value" : "missing", "that");
    }
    for (int i = 0; i < got->attr_count; i++) {
        if (!bd_node_attr(want, got->attrs[i].name))
            differ(differences, got->name, got->attrs[i].name, "there", "missing");
    }
}

static void compare_nodes(int *differences, const braid_op *got, const braid_op *want)
{
    if (strcmp(got->op_type, want->op_type) != 0)
        differ(differences, got->name, "op", got->op_type, want->op_type);
    if (strcmp(got->device, want->device) != 0)
        differ(differences, got->name, "device", got->device, want->device);
    char *got_inputs = inputs_of(got), *want_inputs = inputs_of(want);
    if (strcmp(got_inputs, want_inputs) != 0)
        differ(differences, got->name, "inputs", got_inputs, want_inputs);
    bd_free(got_inputs);
    bd_free(want_inputs);
    compare_attrs(differences, got, want);
}

// Nodes that Braid does not build yet: the saver's.
static bool is_not_built_yet(const char *name)
{
    return strncmp(name, "save/", 5) == 0;
}

static void test_same_graph_as_tensorflow(void **state)
{
    (void)state;
    braid_graph *want = recorded_graph("mnist_replica-async-1ps"), *got = built_graph("localhost:2222");
    int differences = 0, compared = 0;
    for (int i = 0; i < braid_graph_num_ops(want); i++) {
        const braid_op *w = braid_graph_op(want, i), *g = braid_graph_find(got, w->name);
        if (is_not_built_yet(w->name)) continue;
        if (g)
            compare_nodes(&differences, g, w);
        else
            differ(&differences, w->name, "node", "missing", w->op_type);
        compared++;
    }
    for (int i = 0; i < braid_graph_num_ops(got); i++) {
        const braid_op *g = braid_graph_op(got, i);
        if (!braid_graph_find(want, g->name)) differ(&differences, g->name, "node", g->op_type, "missing");
    }
    assert_int_equal(differences, 0);
    assert_true(compared > 200);
    braid_graph_free(want);
    braid_graph_free(got);
}

// Within a gradient the order may differ: what counts there are names and edges.
static void test_nodes_come_in_tensorflows_order(void **state)
{
    (void)state;
    braid_graph *want = recorded_graph("mnist_replica-async-1ps"), *got = built_graph("localhost:2222");
    for (int i = 0, k = 0; i < braid_graph_num_ops(want); i++) {
        const char *name = braid_op_name(braid_graph_op(want, i));
        if (is_not_built_yet(name)) continue;
        const char *built = braid_op_name(braid_graph_op(got, k++));
        if (bd_str_starts_with(name, "gradients/") && bd_str_starts_with(built, "gradients/")) continue;
        assert_string_equal(built, name);
    }
    braid_graph_free(want);
    braid_graph_free(got);
}

// With two parameter servers variables are dealt in turn, slots beside their variables: as recorded for the synchronous
// program, whose variables are the same.
static void test_same_devices_with_two_parameter_servers(void **state)
{
    (void)state;
    braid_graph *want = recorded_graph("mnist_replica-sync-2ps");
    braid_graph *got = built_graph("localhost:2222,localhost:2220");
    int count;
    const braid_out *variables = braid_collection(got, BRAID_GLOBAL_VARIABLES, &count);
    assert_int_equal(count, 15);
    for (int i = 0; i < count; i++) {
        braid_op *w = braid_graph_find(want, braid_op_name(variables[i].op));
        assert_non_null(w);
        assert_string_equal(braid_op_requested_device(variables[i].op), braid_op_requested_device(w));
    }
    const char *const inits[] = {"init/NoOp", "init/NoOp_1", "init"};
    for (int i = 0; i < 3; i++) {
        int differences = 0;
        compare_nodes(&differences, braid_graph_find(got, inits[i]), braid_graph_find(want, inits[i]));
        assert_int_equal(differences, 0);
    }
    braid_graph_free(want);
    braid_graph_free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_graph_as_tensorflow),
        cmocka_unit_test(test_nodes_come_in_tensorflows_order),
        cmocka_unit_test(test_same_devices_with_two_parameter_servers),
    };
    return BD_RUN_TESTS(tests);
}
