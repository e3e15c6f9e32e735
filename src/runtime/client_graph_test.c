// From a session's graph to the graph of a run: feeds, fetches, pruning, and the errors that clients match.
#include "runtime/testing/test_ops.h"

#include "runtime/client_graph.h"
#include "runtime/testing/test_graph.h"

#define PS "/job:ps/replica:0/task:0/device:CPU:0"
#define WORKER "/job:worker/replica:0/task:0/device:CPU:0"

static const bd_device_info client = {.name = WORKER, .type = "CPU", .incarnation = 0xab};

#define NAMES(...)                                                                                           \
    (const char *const[])                                                                                    \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }

// x (fed) -> y = -x -> z = y + w, with the variable w; t after y.
static braid_graph *make_graph(void)
{
    braid_graph *g = braid_graph_new();
    braid_push_device(g, WORKER);
    braid_out x = tg_placeholder(g, "x", BRAID_FLOAT), y = tg1(g, "Neg", "y", x);
    braid_push_device(g, PS);
    braid_out w = tg_variable(g, "w", BRAID_FLOAT);
    tg2(g, "Assign", "init", w, tg_float(g, "zero", 0));
    braid_out sum = tg2(g, "Add", "z", y, w);
    tg_after(g, "NoOp", "t", 2, (braid_op *[]){y.op, x.op});
    tg1(g, "Neg", "unused", sum);
    for (size_t i = 0; i < g->nodes.len; i++)
        g->nodes.items[i]->assigned_device = g->nodes.items[i]->device;
    return g;
}

static void prepare(const braid_graph *g, bd_run_signature s, bd_feed_style style, bd_client_graph *out)
{
    BD_STATUS(st);
    bd_client_graph_build(g, &s, style, &client, out, st);
    assert_ok(st);
}

static void a_connected_output_gives_the_value_of_another(void **state)
{
    (void)state;
    braid_graph *g = make_graph();
    bd_client_graph p;
    prepare(g,
            (bd_run_signature){.fetches = NAMES("z:0"),
                               .fetch_count = 1,
                               .connect_from = NAMES("w:0"),
                               .connect_to = NAMES("x:0"),
                               .connection_count = 1},
            BD_FEED_BY_CALL_FRAME, &p);
    const braid_op *w = braid_graph_find(&p.graph, "w");
    assert_null(braid_graph_find(&p.graph, "x"));
    assert_ptr_equal(braid_graph_find(&p.graph, "y")->inputs[0].op, w);
    bd_client_graph_fini(&p);
    // A node that waits for a connected placeholder waits for its replacement.
    prepare(g,
            (bd_run_signature){.targets = NAMES("t"),
                               .target_count = 1,
                               .connect_from = NAMES("w:0"),
                               .connect_to = NAMES("x:0"),
                               .connection_count = 1},
            BD_FEED_BY_CALL_FRAME, &p);
    const braid_op *t = braid_graph_find(&p.graph, "t");
    assert_int_equal(t->control_count, 2);
    assert_ptr_equal(t->controls[1], braid_graph_find(&p.graph, "w"));
    bd_client_graph_fini(&p);
    BD_STATUS(st);
    const bd_run_signature cycle = {.targets = NAMES("t"),
                                    .target_count = 1,
                                    .connect_from = NAMES("z:0"),
                                    .connect_to = NAMES("y:0"),
                                    .connection_count = 1};
    assert_int_equal(bd_client_graph_build(g, &cycle, BD_FEED_BY_CALL_FRAME, &client, &p, st),
                     BRAID_INVALID_ARGUMENT);
    assert_non_null(strstr(st->message, "\"y\" and \"z\" would create a cycle"));
    // Two that are no cycle each.
    braid_out b = tg_placeholder(g, "b", BRAID_FLOAT);
    b.op->assigned_device = tg1(g, "Neg", "c", b).op->assigned_device = WORKER;
    const bd_run_signature both = {.targets = NAMES("t"),
                                   .target_count = 1,
                                   .connect_from = NAMES("c:0", "y:0"),
                                   .connect_to = NAMES("x:0", "b:0"),
                                   .connection_count = 2};
    assert_int_equal(bd_client_graph_build(g, &both, BD_FEED_BY_CALL_FRAME, &client, &p, st),
                     BRAID_INVALID_ARGUMENT);
    assert_non_null(strstr(st->message, "\"b\" and \"y\" would create a cycle"));
    braid_graph_free(g);
}

static void the_plan_has_only_needed_nodes(void **state)
{
    (void)state;
    braid_graph *g = make_graph();
    bd_client_graph p;
    prepare(
        g,
        (bd_run_signature){.feeds = NAMES("x"), .feed_count = 1, .fetches = NAMES("z:0"), .fetch_count = 1},
        BD_FEED_BY_CALL_FRAME, &p);
    static const char *const there[] = {"_arg_x_0", "y", "w", "z", "_retval_z_0"};
    assert_int_equal(p.graph.nodes.len, BD_COUNTOF(there));
    for (size_t i = 0; i < BD_COUNTOF(there); i++)
        assert_non_null(braid_graph_find(&p.graph, there[i]));
    const braid_op *arg = braid_graph_find(&p.graph, "_arg_x_0");
    assert_string_equal(arg->op_type, "_Arg");
    assert_string_equal(arg->assigned_device, WORKER);
    assert_ptr_equal(braid_graph_find(&p.graph, "y")->inputs[0].op, arg);
    assert_string_equal(braid_graph_find(&p.graph, "_retval_z_0")->assigned_device, PS);
    bd_client_graph_fini(&p);
    braid_graph_free(g);
}

static void feeds_and_fetches_go_by_rendezvous_under_their_names(void **state)
{
    (void)state;
    braid_graph *g = make_graph();
    bd_client_graph p;
    prepare(g,
            (bd_run_signature){
                .feeds = NAMES("y"), .feed_count = 1, .fetches = NAMES("w", "z:0"), .fetch_count = 2},
            BD_FEED_BY_RENDEZVOUS, &p);
    const braid_op *recv = braid_graph_find(&p.graph, "_recv_y_0"),
                   *send = braid_graph_find(&p.graph, "_send_w_0");
    assert_string_equal(bd_node_attr_string(recv, "tensor_name"), "y:0");
    assert_string_equal(bd_node_attr_string(recv, "send_device"), WORKER);
    assert_string_equal(bd_node_attr_string(recv, "recv_device"), WORKER); // where y is
    assert_true(bd_node_attr_bool(recv, "client_terminated"));
    assert_string_equal(bd_node_attr_string(send, "send_device"), PS);
    assert_string_equal(bd_node_attr_string(send, "recv_device"), PS);
    assert_int_equal(send->input_types[0], BRAID_FLOAT); // of a variable, its value
    assert_null(braid_graph_find(&p.graph, "x"));
    assert_string_equal(p.feeds[0].device, WORKER);
    assert_string_equal(p.fetches[0].tensor, "w:0");
    assert_string_equal(p.fetches[1].device, PS);
    assert_int_equal(p.fetches[0].dtype, BRAID_FLOAT);
    char *feed = bd_endpoint_key(&p.feeds[0], 0xab), *fetch = bd_endpoint_key(&p.fetches[0], 0x77);
    assert_string_equal(feed, WORKER ";00000000000000ab;" WORKER ";y:0;0:0");
    assert_string_equal(fetch, PS ";0000000000000077;" PS ";w:0;0:0");
    bd_free(feed);
    bd_free(fetch);
    bd_client_graph_fini(&p);
    braid_graph_free(g);
}

static void a_target_runs_with_its_inputs_and_a_fed_placeholder_is_pruned(void **state)
{
    (void)state;
    braid_graph *g = make_graph();
    bd_client_graph p;
    prepare(g,
            (bd_run_signature){
                .feeds = NAMES("x"), .feed_count = 1, .targets = NAMES("t", "x"), .target_count = 2},
            BD_FEED_BY_CALL_FRAME, &p);
    const braid_op *t = braid_graph_find(&p.graph, "t"), *arg = braid_graph_find(&p.graph, "_arg_x_0");
    assert_non_null(t);
    assert_null(braid_graph_find(&p.graph, "x"));
    assert_int_equal(t->control_count, 2);
    assert_true(t->controls[0] == arg || t->controls[1] == arg);
    bd_client_graph_fini(&p);
    braid_graph_free(g);
}

static void missing_nodes_are_errors(void **state)
{
    (void)state;
    const struct {
        bd_run_signature s;
        braid_code code;
        const char *text;
    } cases[] = {
        {{.feed_count = 0}, BRAID_INVALID_ARGUMENT, "Must specify at least one target to fetch or execute."},
        {{.feeds = NAMES("x"), .feed_count = 1},
         BRAID_INVALID_ARGUMENT,
         "Must specify at least one target to fetch or execute."},
        {{.feeds = NAMES("nope:0"), .feed_count = 1, .targets = NAMES("t"), .target_count = 1},
         BRAID_NOT_FOUND,
         "FeedInputs: unable to find feed output nope:0"},
        {{.feeds = NAMES("x:7"), .feed_count = 1, .targets = NAMES("t"), .target_count = 1},
         BRAID_INVALID_ARGUMENT,
         "FeedInputs: x:7 should have output index < 1"},
        {{.feeds = NAMES("x", "x:0"), .feed_count = 2, .targets = NAMES("t"), .target_count = 1},
         BRAID_INVALID_ARGUMENT,
         "Duplicated feeds: Endpoint \"x:0\" fed more than once."},
        {{.feeds = NAMES("z"), .feed_count = 1, .fetches = NAMES("y:0", "z:0"), .fetch_count = 2},
         BRAID_INVALID_ARGUMENT,
         "z:0 is both fed and fetched."},
        {{.fetches = NAMES("x:0"),
          .fetch_count = 1,
          .connect_from = NAMES("w:0"),
          .connect_to = NAMES("x"),
          .connection_count = 1},
         BRAID_INVALID_ARGUMENT,
         "x:0 is both fed and fetched."},
        {{.fetches = NAMES("t"), .fetch_count = 1},
         BRAID_INVALID_ARGUMENT,
         "Tried to fetch data for 't', which produces no output"},
        {{.fetches = NAMES("nope:0"), .fetch_count = 1},
         BRAID_NOT_FOUND,
         "FetchOutputs node nope:0: not found"},
        {{.fetches = NAMES("z:1"), .fetch_count = 1},
         BRAID_INVALID_ARGUMENT,
         "FetchOutputs z:1: output index too large, must be < 1"},
        {{.targets = NAMES("t", "nope", "no"), .target_count = 3},
         BRAID_NOT_FOUND,
         "PruneForTargets: Some target nodes not found: nope no"},
        {{.fetches = NAMES(""), .fetch_count = 1}, BRAID_NOT_FOUND, "FetchOutputs node : not found"},
        {{.targets = NAMES(":0"), .target_count = 1}, BRAID_NOT_FOUND, "Some target nodes not found"},
    };
    braid_graph *g = make_graph();
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        bd_client_graph p;
        BD_STATUS(st);
        bd_client_graph_build(g, &cases[i].s, BD_FEED_BY_CALL_FRAME, NULL, &p, st);
        assert_error(st, cases[i].code, cases[i].text);
    }
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_plan_has_only_needed_nodes),
        cmocka_unit_test(a_connected_output_gives_the_value_of_another),
        cmocka_unit_test(feeds_and_fetches_go_by_rendezvous_under_their_names),
        cmocka_unit_test(a_target_runs_with_its_inputs_and_a_fed_placeholder_is_pruned),
        cmocka_unit_test(missing_nodes_are_errors),
    };
    return BD_RUN_TESTS(tests);
}
