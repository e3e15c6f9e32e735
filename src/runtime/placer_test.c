// Placement: tables of small graphs and where their nodes go.
#include "runtime/testing/test_ops.h"

#include "base/strbuf.h"
#include "runtime/placer.h"
#include "runtime/testing/test_graph.h"
#include <braid/log.h>

#define PS0 "/job:ps/replica:0/task:0/device:CPU:0"
#define PS1 "/job:ps/replica:0/task:1/device:CPU:0"
#define W0 "/job:worker/replica:0/task:0/device:CPU:0"
#define W1 "/job:worker/replica:0/task:1/device:CPU:0"

// The order of this list does not matter: names are sorted.
static const bd_device_info cluster[] = {{.name = W1, .type = "CPU"},
                                         {.name = PS1, .type = "CPU"},
                                         {.name = W0, .type = "CPU"},
                                         {.name = PS0, .type = "CPU"}};

static const bd_placer_options hard = {.devices = cluster, .device_count = 4, .default_device = W0};
static const bd_placer_options soft = {.devices = cluster, .device_count = 4, .allow_soft_placement = true};

static void place(braid_graph *g, const bd_placer_options *options)
{
    BD_STATUS(st);
    braid_graph_status(g, st);
    assert_ok(st);
    bd_place(g, 0, options, st);
    assert_ok(st);
}

#define assert_on(out, device) assert_string_equal((out).op->assigned_device, (device))

static void fields_that_are_asked_for_are_given(void **state)
{
    (void)state;
    static const struct {
        const char *asked, *given;
    } cases[] = {
        {"", PS0}, // the first of the whole cluster by name: known programs share variables so
        {"/cpu:0", PS0},
        {"/device:CPU:0", PS0},
        {"/job:ps", PS0},
        {"/job:ps/task:1", PS1},
        {"/job:worker", W0},
        {"/job:worker/replica:0/task:1/cpu:0", W1},
        {"/job:*/task:1", PS1},
        {"/task:1", PS1},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        braid_graph *g = braid_graph_new();
        braid_push_device(g, cases[i].asked);
        braid_out v = tg_variable(g, "v", BRAID_FLOAT);
        place(g, &hard);
        assert_on(v, cases[i].given);
        braid_graph_free(g);
    }
}

static void consumers_of_a_reference_join_the_variable(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_push_device(g, "/job:ps/task:1");
    braid_out v = tg_variable(g, "v", BRAID_FLOAT);
    braid_pop_device(g);
    braid_push_device(g, "/job:worker/task:1");
    braid_out one = tg_float(g, "one", 1), read = tg1(g, "Identity", "read", v);
    braid_pop_device(g);
    braid_out assign = tg2(g, "Assign", "assign", v, one), again = tg2(g, "AssignAdd", "again", assign, one);
    braid_push_device(g, "/cpu:0");
    braid_out is_set = tg1(g, "IsVariableInitialized", "is_set", v);
    place(g, &hard);
    assert_on(assign, PS1);
    assert_on(again, PS1);
    assert_on(is_set, PS1);
    assert_on(one, W1);
    assert_on(read, W1); // takes the value
    braid_graph_free(g);
}

static void nodes_of_a_class_are_together(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_push_device(g, "/job:worker/task:1");
    braid_out a = tg_variable(g, "a", BRAID_FLOAT);
    braid_pop_device(g);
    braid_push_colocate(g, a.op);
    braid_out b = tg_variable(g, "b", BRAID_FLOAT);
    braid_push_colocate(g, b.op);
    braid_out c = tg1(g, "Identity", "c", b);
    // A class whose node was pruned still joins its members.
    static const char *const absent[] = {"loc:@gone"};
    braid_pop_colocate(g);
    braid_pop_colocate(g);
    braid_out pair[2];
    for (int i = 0; i < 2; i++) {
        braid_op_desc *d = braid_op_begin(g, "VariableV2", NULL);
        braid_op_attr_type(d, "dtype", BRAID_FLOAT);
        braid_op_attr_shape(d, "shape", BRAID_SCALAR);
        braid_op_attr_string_list(d, "_class", absent, 1);
        if (i) braid_op_device(d, "/job:worker");
        pair[i] = braid_op_end_out(d);
    }
    place(g, &hard);
    assert_on(b, W1);
    assert_on(c, W1);
    assert_on(pair[0], W0);
    assert_on(pair[1], W0);
    braid_graph_free(g);
}

static void nodes_placed_before_stay_and_draw_the_others(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out v = tg_variable(g, "v", BRAID_FLOAT);
    v.op->assigned_device = PS1;
    braid_out one = tg_float(g, "one", 1), assign = tg2(g, "Assign", "assign", v, one);
    BD_STATUS(st);
    bd_place(g, 1, &hard, st);
    assert_ok(st);
    assert_on(v, PS1);
    assert_on(assign, PS1);
    braid_graph_free(g);
}

static void metadata_ops_join_their_input_and_sources_their_consumers(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out source = tg_float(g, "source", 1), shared = tg_float(g, "shared", 1),
              unused = tg_float(g, "unused", 1);
    braid_push_device(g, "/job:worker/task:1");
    braid_out x = tg2(g, "Add", "x", source, shared);
    braid_pop_device(g);
    braid_out shape = tg1(g, "Shape", "shape", x);
    braid_push_device(g, "/job:worker/task:0");
    tg1(g, "Neg", "elsewhere", shared);
    place(g, &hard);
    assert_on(shape, W1);
    assert_on(source, W1);
    assert_on(shared, PS0); // its consumers are on two devices
    assert_on(unused, PS0);
    braid_graph_free(g);
}

static void soft_placement_gives_up_type_and_number_only(void **state)
{
    (void)state;
    static const struct {
        const char *asked, *given;
    } cases[] = {{"/job:worker/task:1/gpu:0", W1}, {"/gpu:3", PS0}, {"/job:worker/task:0/cpu:7", W0}};
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        braid_graph *g = braid_graph_new();
        braid_push_device(g, cases[i].asked);
        braid_out v = tg_variable(g, "v", BRAID_FLOAT);
        place(g, &soft);
        assert_on(v, cases[i].given);
        braid_graph_free(g);
    }
}

// Two tasks, of two CPU devices and of three.
static const bd_device_info wide[] = {{.name = "/job:w/replica:0/task:1/device:CPU:2", .type = "CPU"},
                                      {.name = "/job:w/replica:0/task:1/device:CPU:1", .type = "CPU"},
                                      {.name = "/job:w/replica:0/task:1/device:CPU:0", .type = "CPU"},
                                      {.name = "/job:w/replica:0/task:0/device:CPU:0", .type = "CPU"},
                                      {.name = "/job:w/replica:0/task:0/device:CPU:1", .type = "CPU"}};
static const bd_placer_options wide_soft = {
    .devices = wide, .device_count = 5, .allow_soft_placement = true, .log_soft_placement = true};

static void soft_placement_takes_the_number_modulo_the_devices_of_the_task(void **state)
{
    (void)state;
    static const struct {
        const char *asked, *given;
    } cases[] = {
        {"/gpu:0", "/job:w/replica:0/task:0/device:CPU:0"},
        {"/device:GPU:1", "/job:w/replica:0/task:0/device:CPU:1"},
        {"/gpu:2", "/job:w/replica:0/task:0/device:CPU:0"},
        {"/task:1/gpu:2", "/job:w/replica:0/task:1/device:CPU:2"},
        {"/task:1/gpu:7", "/job:w/replica:0/task:1/device:CPU:1"},
        {"/task:1/cpu:4", "/job:w/replica:0/task:1/device:CPU:1"},
        {"/task:1/gpu:*", "/job:w/replica:0/task:1/device:CPU:0"},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        braid_graph *g = braid_graph_new();
        braid_push_device(g, cases[i].asked);
        // A source follows its consumer only to the device that it asks for.
        braid_out one = tg_float(g, "one", 1), v = tg_variable(g, "v", BRAID_FLOAT);
        braid_push_device(g, "/task:1/cpu:2");
        tg1(g, "Neg", "elsewhere", one);
        place(g, &wide_soft);
        assert_on(v, cases[i].given);
        if (!strstr(cases[i].asked, "task")) assert_on(one, cases[i].given);
        braid_graph_free(g);
    }
}

static void an_error_of_an_unknown_device_lists_the_devices(void **state)
{
    (void)state;
    static const struct {
        const char *asked, *text;
        const bd_placer_options *options;
    } cases[] = {
        {"/gpu:0",
         "Cannot assign a device for operation v: {{node v}} was explicitly assigned to /device:GPU:0 but available devices are [ " PS0
         ", " PS1 ", " W0 ", " W1 " ]",
         &hard},
        {"/job:foo/task:7", "explicitly assigned to /job:foo/task:7 but available devices are [ " PS0, &hard},
        {"/job:worker/task:2", "explicitly assigned to /job:worker/task:2", &soft},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        braid_graph *g = braid_graph_new();
        braid_push_device(g, cases[i].asked);
        braid_out v = tg_variable(g, "v", BRAID_FLOAT);
        BD_STATUS(st);
        bd_place(g, 0, cases[i].options, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, cases[i].text);
        assert_null(v.op->assigned_device);
        braid_graph_free(g);
    }
}

// `assign` asks for another task than the variable it changes.
static braid_op *assign_elsewhere(braid_graph *g, braid_out *v, bool by_class)
{
    braid_push_device(g, "/job:ps/task:1");
    *v = tg_variable(g, "v", BRAID_FLOAT);
    braid_pop_device(g);
    braid_push_device(g, "/job:worker/task:1");
    if (!by_class) return tg2(g, "Assign", "assign", *v, tg_float(g, "one", 1)).op;
    braid_op_desc *d = braid_op_begin(g, "Const", "assign");
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_string_list(d, "_class", (const char *[]){"loc:@v"}, 1);
    braid_op_attr_tensor(d, "value", bd_node_attr_tensor(tg_float(g, "one", 1).op, "value"));
    return braid_op_end(d);
}

static void consumers_of_a_reference_are_placed_with_it(void **state)
{
    (void)state;
    BD_STATUS(st);
    for (int placed = 0; placed < 2; placed++) {
        braid_graph *g = braid_graph_new();
        braid_out v;
        const braid_op *assign = assign_elsewhere(g, &v, false);
        if (placed) v.op->assigned_device = PS1;
        bd_place(g, placed, &hard, st);
        assert_ok(st);
        assert_string_equal(assign->assigned_device, PS1);
        braid_graph_free(g);
    }
}

static void nodes_that_must_be_together_and_cannot_are_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_out v;
    assign_elsewhere(g, &v, true);
    bd_place(g, 0, &soft, st);
    assert_error(
        st, BRAID_INVALID_ARGUMENT,
        "Cannot assign a device for operation assign: Cannot colocate nodes {{colocation_node v}} and "
        "{{colocation_node assign}}: Cannot merge devices with incompatible jobs: '/job:ps/task:1' and "
        "'/job:worker/task:1' [[{{node assign}}]]");
    v.op->assigned_device = PS1;
    bd_place(g, 1, &soft, st);
    assert_error(
        st, BRAID_INVALID_ARGUMENT,
        "Could not satisfy explicit device specification '/job:worker/task:1' of {{colocation_node assign}} "
        "because the node {{colocation_node assign}} was colocated with a group of nodes that required "
        "incompatible device '" PS1 "'");
    braid_graph_free(g);
    // A group whose requests contradict each other.
    g = braid_graph_new();
    braid_push_device(g, "/job:ps");
    v = tg_variable(g, "v", BRAID_FLOAT);
    braid_push_device(g, "/task:7");
    tg2(g, "Assign", "assign", v, tg_float(g, "one", 1));
    bd_place(g, 0, &hard, st);
    assert_error(
        st, BRAID_INVALID_ARGUMENT,
        "Cannot assign a device for operation v: Could not satisfy explicit device specification '/job:ps' "
        "because the node {{colocation_node v}} was colocated with a group of nodes that required "
        "incompatible device '/job:ps/task:7'. All available devices [" PS0);
    braid_graph_free(g);
}

static void ops_without_kernels_are_placed_all_the_same(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    BD_STATUS(st);
    braid_op *unknown;
    bd_graph_add(g, &(bd_node_spec){.name = "strange", .op_type = "Nope", .device = "/job:worker/task:1"},
                 &unknown, st);
    assert_ok(st);
    place(g, &hard);
    assert_string_equal(unknown->assigned_device, W1);
    braid_graph_free(g);
}

static void collect_line(braid_log_level level, const char *message, void *arg)
{
    if (level == BRAID_LOG_INFO) bd_strbuf_appendf(arg, "%s|", message);
}

static void a_device_that_soft_placement_replaces_is_logged_once(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    bd_strbuf lines = {0};
    BD_STATUS(st);
    braid_set_log_sink(collect_line, &lines);
    braid_push_device(g, "/gpu:3");
    tg_variable(g, "a", BRAID_FLOAT);
    tg_variable(g, "b", BRAID_FLOAT);
    braid_push_device(g, "/cpu:0");
    tg_variable(g, "c", BRAID_FLOAT);
    place(g, &wide_soft);
    braid_pop_device(g);
    tg_variable(g, "later", BRAID_FLOAT);
    bd_place(g, 3, &wide_soft, st);
    braid_set_log_sink(NULL, NULL);
    assert_ok(st);
    assert_string_equal(bd_strbuf_str(&lines),
                        "There is no device /device:GPU:3: its operations are placed on "
                        "/job:w/replica:0/task:0/device:CPU:1 (soft placement)|");
    bd_strbuf_fini(&lines);
    braid_graph_free(g);
}

static void placement_is_logged_a_line_a_node(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_push_device(g, "/job:ps/task:1");
    tg_variable(g, "hid_w", BRAID_FLOAT);
    bd_placer_options logged = hard;
    logged.log_device_placement = true;
    bd_strbuf lines = {0};
    braid_set_log_sink(collect_line, &lines);
    place(g, &logged);
    braid_set_log_sink(NULL, NULL);
    assert_string_equal(bd_strbuf_str(&lines), "hid_w: (VariableV2): " PS1 "|");
    bd_strbuf_fini(&lines);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_that_are_asked_for_are_given),
        cmocka_unit_test(consumers_of_a_reference_join_the_variable),
        cmocka_unit_test(nodes_of_a_class_are_together),
        cmocka_unit_test(nodes_placed_before_stay_and_draw_the_others),
        cmocka_unit_test(metadata_ops_join_their_input_and_sources_their_consumers),
        cmocka_unit_test(soft_placement_gives_up_type_and_number_only),
        cmocka_unit_test(soft_placement_takes_the_number_modulo_the_devices_of_the_task),
        cmocka_unit_test(an_error_of_an_unknown_device_lists_the_devices),
        cmocka_unit_test(consumers_of_a_reference_are_placed_with_it),
        cmocka_unit_test(nodes_that_must_be_together_and_cannot_are_an_error),
        cmocka_unit_test(ops_without_kernels_are_placed_all_the_same),
        cmocka_unit_test(a_device_that_soft_placement_replaces_is_logged_once),
        cmocka_unit_test(placement_is_logged_a_line_a_node),
    };
    return BD_RUN_TESTS(tests);
}
