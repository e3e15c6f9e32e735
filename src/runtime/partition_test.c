// Partitioning: the nodes at the cuts, and equal results of graphs that are cut, loops included.
// labels: concurrent
#include "runtime/testing/test_ops.h"

#include "base/strbuf.h"
#include "runtime/partition.h"
#include "runtime/testing/test_graph.h"
#include <stdlib.h>

#define PS "/job:ps/replica:0/task:0/device:CPU:0"
#define PS_B "/job:ps/replica:0/task:0/device:CPU:1"
#define WORKER "/job:worker/replica:0/task:0/device:CPU:0"

static const bd_device_info devices[] = {{.name = PS, .type = "CPU", .incarnation = 0x11},
                                         {.name = PS_B, .type = "CPU", .incarnation = 0x12},
                                         {.name = WORKER, .type = "CPU", .incarnation = 0x22}};

static void cut_by(braid_graph *g, const bd_partition_options *options, bd_partitions *out)
{
    BD_STATUS(st);
    braid_graph_status(g, st);
    assert_ok(st);
    for (size_t i = 0; i < g->nodes.len; i++)
        g->nodes.items[i]->assigned_device = g->nodes.items[i]->device;
    bd_partition_graph(g, options, out, st);
    assert_ok(st);
}

static void cut(braid_graph *g, bool by_device, bd_partitions *out)
{
    cut_by(g, &(bd_partition_options){.by_device = by_device, .devices = devices, .device_count = 3}, out);
}

static bd_partition *part_at(bd_partitions *p, const char *location)
{
    for (int i = 0; i < p->count; i++) {
        if (strcmp(p->items[i].location, location) == 0) return &p->items[i];
    }
    fail_msg("no part at %s", location);
    return NULL;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void append_input(bd_strbuf *b, const braid_op *n, int output)
{
    bd_strbuf_appendf(b, " %s", n->name);
    if (output > 0) bd_strbuf_appendf(b, ":%d", output);
}

// The nodes of a part as sorted lines "op(name input ^control)".
static char *describe(const braid_graph *g)
{
    size_t n = g->nodes.len;
    char **lines = bd_calloc(n, sizeof(char *));
    for (size_t i = 0; i < n; i++) {
        const braid_op *node = g->nodes.items[i];
        bd_strbuf b = {0};
        bd_strbuf_appendf(&b, "%s(%s", node->op_type, node->name);
        for (int k = 0; k < node->input_count; k++)
            append_input(&b, node->inputs[k].op, node->inputs[k].index);
        for (int k = 0; k < node->control_count; k++)
            bd_strbuf_appendf(&b, " ^%s", node->controls[k]->name);
        bd_strbuf_append(&b, ")\n");
        lines[i] = bd_strbuf_take(&b);
    }
    qsort(lines, n, sizeof *lines, compare_lines);
    bd_strbuf all = {0};
    for (size_t i = 0; i < n; i++) {
        bd_strbuf_append(&all, lines[i]);
        bd_free(lines[i]);
    }
    bd_free(lines);
    return bd_strbuf_take(&all);
}

static void assert_part(bd_partitions *p, const char *location, const char *expected)
{
    char *text = describe(&part_at(p, location)->graph);
    assert_string_equal(text, expected);
    bd_free(text);
}

static braid_out on(braid_graph *g, const char *device, const char *op, const char *name, int count,
                    const braid_out *inputs)
{
    braid_push_device(g, device);
    braid_out out = tg_node(g, op, name, count, inputs);
    braid_pop_device(g);
    return out;
}

static braid_out const_on(braid_graph *g, const char *device, const char *name, float value)
{
    braid_push_device(g, device);
    braid_out out = tg_float(g, name, value);
    braid_pop_device(g);
    return out;
}

// ---- Nodes that are added at the cuts ----

static void an_output_crosses_once_for_each_device(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out w = const_on(g, PS, "w", 1);
    braid_out a = on(g, WORKER, "Neg", "a", 1, &w), b = on(g, WORKER, "Neg", "b", 1, &w);
    on(g, PS, "Add", "sum", 2, (braid_out[]){a, b});
    bd_partitions p;
    cut(g, false, &p);
    assert_int_equal(p.count, 2);
    assert_part(&p, "/job:ps/replica:0/task:0",
                "Add(sum a_S3 b_S5)\nConst(w)\n_Recv(a_S3)\n_Recv(b_S5)\n_Send(w_S0 w)\n");
    assert_part(&p, "/job:worker/replica:0/task:0",
                "Neg(a w_S1)\nNeg(b w_S1)\n_Recv(w_S1)\n_Send(a_S2 a)\n_Send(b_S4 b)\n");
    bd_partitions_fini(&p);
    braid_graph_free(g);
}

static void both_ends_of_a_cut_have_one_key(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out w = const_on(g, PS, "w", 1);
    on(g, WORKER, "Neg", "a", 1, &w);
    bd_partitions p;
    cut(g, false, &p);
    const braid_op *send = braid_graph_find(&part_at(&p, "/job:ps/replica:0/task:0")->graph, "w_S0");
    const braid_op *recv = braid_graph_find(&part_at(&p, "/job:worker/replica:0/task:0")->graph, "w_S1");
    const braid_op *const ends[] = {send, recv};
    for (int i = 0; i < 2; i++) {
        assert_string_equal(bd_node_attr_string(ends[i], "tensor_name"), "edge_0_w");
        assert_string_equal(bd_node_attr_string(ends[i], "send_device"), PS);
        assert_string_equal(bd_node_attr_string(ends[i], "recv_device"), WORKER);
        assert_int_equal(bd_node_attr_int(ends[i], "send_device_incarnation"), 0x11);
        assert_false(bd_node_attr_bool(ends[i], "client_terminated"));
    }
    assert_string_equal(send->assigned_device, PS);
    assert_string_equal(recv->assigned_device, WORKER);
    assert_int_equal(bd_node_attr_type(recv, "tensor_type"), BRAID_FLOAT);
    assert_int_equal(recv->output_types[0], BRAID_FLOAT);
    bd_partitions_fini(&p);
    braid_graph_free(g);
}

static void a_control_edge_crosses_as_an_empty_constant(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out w = const_on(g, PS, "w", 1);
    braid_push_device(g, WORKER);
    tg_after(g, "NoOp", "first", 1, &w.op);
    tg_after(g, "NoOp", "second", 1, &w.op);
    bd_partitions p;
    cut(g, false, &p);
    assert_part(&p, "/job:ps/replica:0/task:0", "Const(w)\nConst(w_S0 ^w)\n_Send(w_S1 w_S0)\n");
    assert_part(&p, "/job:worker/replica:0/task:0",
                "Identity(w_S3 w_S2)\nNoOp(first ^w_S3)\nNoOp(second ^w_S3)\n_Recv(w_S2)\n");
    bd_partitions_fini(&p);
    braid_graph_free(g);
}

static void floats_may_cross_as_bfloat16(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out w = const_on(g, PS, "w", 1);
    braid_push_device(g, PS);
    braid_out n = tg_int(g, "n", 1);
    braid_pop_device(g);
    on(g, WORKER, "Neg", "a", 1, &w);
    on(g, WORKER, "Neg", "b", 1, &w);
    on(g, WORKER, "Neg", "c", 1, &n);
    bd_partitions p;
    cut_by(g, &(bd_partition_options){.devices = devices, .device_count = 3, .sends_bfloat16 = true}, &p);
    bd_partition *ps = part_at(&p, "/job:ps/replica:0/task:0");
    assert_part(&p, ps->location, "Cast(w_S0 w)\nConst(n)\nConst(w)\n_Send(n_S4 n)\n_Send(w_S1 w_S0)\n");
    assert_part(&p, "/job:worker/replica:0/task:0",
                "Cast(w_S3 w_S2)\nNeg(a w_S3)\nNeg(b w_S3)\nNeg(c n_S5)\n_Recv(n_S5)\n_Recv(w_S2)\n");
    const braid_op *cast = braid_graph_find(&ps->graph, "w_S0");
    assert_true(bd_node_attr_bool(cast, "Truncate"));
    assert_int_equal(bd_node_attr_type(cast, "DstT"), BRAID_BFLOAT16);
    bd_partitions_fini(&p);
    braid_graph_free(g);
}

static void parts_are_tasks_or_devices(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out w = const_on(g, PS, "w", 1);
    on(g, PS_B, "Neg", "a", 1, &w);
    bd_partitions p;
    cut(g, false, &p);
    assert_int_equal(p.count, 1);
    assert_part(&p, "/job:ps/replica:0/task:0", "Const(w)\nNeg(a w)\n");
    bd_partitions_fini(&p);
    cut(g, true, &p);
    assert_int_equal(p.count, 2);
    assert_part(&p, PS_B, "Neg(a w_S1)\n_Recv(w_S1)\n");
    bd_partitions_fini(&p);
    braid_graph_free(g);
}

static void each_reader_of_a_variable_receives_for_itself(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_push_device(g, PS);
    braid_out v = tg_variable(g, "v", BRAID_FLOAT);
    braid_pop_device(g);
    on(g, WORKER, "Identity", "a", 1, &v);
    on(g, WORKER, "Identity", "b", 1, &v);
    bd_partitions p;
    cut(g, false, &p);
    assert_part(&p, "/job:worker/replica:0/task:0",
                "Identity(a v_S1)\nIdentity(b v_S3)\n_Recv(v_S1)\n_Recv(v_S3)\n");
    const braid_op *recv = braid_graph_find(&part_at(&p, "/job:worker/replica:0/task:0")->graph, "v_S1");
    assert_int_equal(recv->output_types[0], BRAID_FLOAT); // a value, not a reference
    bd_partitions_fini(&p);
    braid_graph_free(g);
}

static void fetches_are_sent_with_the_incarnation_of_their_device(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const_on(g, PS, "w", 1);
    BD_STATUS(st);
    g->nodes.items[0]->assigned_device = PS;
    const bd_device_info client = {.name = WORKER, .type = "CPU", .incarnation = 0x99};
    bd_client_graph prepared;
    bd_run_signature signature = {.fetches = (const char *const[]){"w:0"}, .fetch_count = 1};
    bd_client_graph_build(g, &signature, BD_FEED_BY_RENDEZVOUS, &client, &prepared, st);
    assert_ok(st);
    const bd_partition_options options = {.devices = devices, .device_count = 3};
    bd_partitions p;
    bd_partition_graph(&prepared.graph, &options, &p, st);
    assert_ok(st);
    assert_int_equal(p.count, 1);
    const braid_op *send = braid_graph_find(&p.items[0].graph, "_send_w_0");
    assert_int_equal(bd_node_attr_int(send, "send_device_incarnation"), 0x11);
    char *key = bd_endpoint_key(&prepared.fetches[0], 0x11);
    assert_string_equal(key, PS ";0000000000000011;" PS ";w:0;0:0");
    bd_free(key);
    bd_partitions_fini(&p);
    bd_client_graph_fini(&prepared);
    braid_graph_free(g);
}

// ---- Loops ----

// How many nodes of an op a part has.
static int count_ops(const bd_partition *p, const char *op_type)
{
    int count = 0;
    for (size_t i = 0; i < p->graph.nodes.len; i++)
        count += strcmp(p->graph.nodes.items[i]->op_type, op_type) == 0;
    return count;
}

// i = 0; while i < limit: i = f(i), with f = Add(one) on `body_device` and all else on `device`.
static braid_out make_split_loop(braid_graph *g, const char *device, const char *body_device,
                                 braid_out limit_value, int parallel)
{
    braid_push_device(g, device);
    braid_out zero = tg_int(g, NULL, 0);
    tg_loop l = tg_loop_begin(g, "loop", parallel, 1, &zero);
    braid_out limit = tg_enter(&l, limit_value, true), one = tg_enter(&l, tg_int(g, NULL, 1), true);
    tg_loop_condition(&l, tg2(g, "Less", NULL, l.merge[0], limit));
    braid_push_device(g, body_device);
    braid_out next = tg2(g, "Add", "next", l.body[0], one);
    next = tg1(g, "TestCount", "turns", next);
    braid_pop_device(g);
    tg_loop_end(&l, &next);
    braid_pop_device(g);
    return l.exit[0];
}

static void every_device_of_a_loop_gets_its_control(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_push_device(g, PS);
    braid_out limit = tg_int(g, "limit", 3);
    braid_pop_device(g);
    make_split_loop(g, PS, WORKER, limit, 7);
    bd_partitions p;
    cut(g, false, &p);
    const bd_partition *worker = part_at(&p, "/job:worker/replica:0/task:0");
    static const char *const control[] = {"Merge", "Switch", "NextIteration"};
    for (size_t i = 0; i < BD_COUNTOF(control); i++)
        assert_int_equal(count_ops(worker, control[i]), 1);
    assert_int_equal(count_ops(worker, "LoopCond"), 0);
    for (size_t i = 0; i < worker->graph.nodes.len; i++) {
        const braid_op *n = worker->graph.nodes.items[i];
        if (bd_node_role(n) == BD_ROLE_ENTER) assert_int_equal(bd_node_attr_int(n, "parallel_iterations"), 7);
        if (bd_node_role(n) != BD_ROLE_RECV || strstr(bd_node_attr_string(n, "tensor_name"), "Const"))
            continue;
        assert_int_equal(n->control_count, 1); // so that it runs in each iteration
        assert_int_equal(bd_node_role(n->controls[0]), BD_ROLE_MERGE);
    }
    bd_partitions_fini(&p);
    braid_graph_free(g);
}

static void a_loop_without_a_predicate_cannot_be_cut(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_push_device(g, PS);
    tg_loop l = {.graph = g, .frame = "loop", .parallel_iterations = 1};
    braid_out entered = tg_enter(&l, tg_float(g, NULL, 1), true), copy = tg1(g, "Identity", NULL, entered);
    braid_pop_device(g);
    on(g, WORKER, "Neg", "a", 1, &copy);
    for (size_t i = 0; i < g->nodes.len; i++)
        g->nodes.items[i]->assigned_device = g->nodes.items[i]->device;
    const bd_partition_options options = {.devices = devices, .device_count = 3};
    bd_partitions p;
    BD_STATUS(st);
    bd_partition_graph(g, &options, &p, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "A cross-device loop must have a pivot predicate: loop");
    braid_graph_free(g);
}

static const braid_session_options three_devices = {.cpu_devices = 3, .inter_op_threads = 3};

static void values_and_deadness_cross_devices(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out pred = tg_placeholder(g, "pred", BRAID_BOOL), x = tg_placeholder(g, "x", BRAID_FLOAT);
    braid_push_device(g, "/cpu:0");
    braid_out sw = tg2(g, "Switch", NULL, x, pred);
    braid_push_device(g, "/cpu:1");
    braid_out on_true =
        tg1(g, "Neg", NULL, tg1(g, "TestCount", "true", (braid_out){.op = sw.op, .index = 1}));
    braid_op *done = tg_after(g, "NoOp", "done", 1, &on_true.op);
    braid_push_device(g, "/cpu:2");
    braid_out on_false = tg2(g, "Add", NULL, sw, tg_float(g, NULL, 1));
    braid_out after = tg1(g, "TestCount", "after", tg_identity_after(g, NULL, tg_float(g, NULL, 1), done));
    braid_op_desc *d = braid_op_begin(g, "Merge", NULL);
    braid_op_input_list(d, (braid_out[]){on_true, on_false}, 2);
    braid_out merged = braid_op_end_out(d);
    braid_session *s = tg_session(g, &three_devices);
    for (int i = 0; i < 20; i++) {
        braid_tensor *p = braid_tensor_bool(i % 2), *value = braid_tensor_float((float)i), *out = NULL;
        braid_feed feeds[] = {{pred, p}, {x, value}};
        braid_fetch fetch = {merged, &out};
        braid_run_args args = {.feeds = feeds,
                               .feed_count = 2,
                               .fetches = &fetch,
                               .fetch_count = 1,
                               .targets = &after.op,
                               .target_count = 1};
        BD_STATUS(st);
        braid_session_run(s, &args, st);
        assert_ok(st);
        assert_float_equal(bd_tensor_f32(out)[0], (i % 2 ? -i : i + 1), 0);
        assert_int_equal(test_count("true"), i % 2);
        assert_int_equal(test_count("after"), i % 2); // the control edge was dead too
        braid_tensor_free(p);
        braid_tensor_free(value);
        braid_tensor_free(out);
    }
    tg_close(s, g);
}

static void a_loop_over_devices_goes_round_on_each(void **state)
{
    (void)state;
    static const int parallel[] = {1, 3, 10};
    for (size_t p = 0; p < BD_COUNTOF(parallel); p++) {
        braid_graph *g = braid_graph_new();
        braid_out limit = tg_placeholder(g, "limit", BRAID_INT32);
        braid_out count = make_split_loop(g, "/cpu:0", "/cpu:1", limit, parallel[p]);
        braid_session *s = tg_session(g, &three_devices);
        for (int n = 0; n < 12; n++) {
            braid_feed feed = {limit, braid_tensor_int32(n)};
            test_count("turns");
            tg_assert_fetch(s, count, &feed, n);
            assert_int_equal(test_count("turns"), n);
            braid_tensor_free((braid_tensor *)feed.value);
        }
        tg_close(s, g);
    }
}

// The inner loop's body is on a device that the outer loop does not touch otherwise.
static void nested_loops_over_devices_go_round(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out rows = tg_placeholder(g, "rows", BRAID_INT32);
    braid_push_device(g, "/cpu:0");
    tg_loop outer = tg_loop_begin(g, "outer", 4, 2, (braid_out[]){tg_int(g, NULL, 0), tg_int(g, NULL, 0)});
    braid_out limit = tg_enter(&outer, rows, true), one = tg_enter(&outer, tg_int(g, NULL, 1), true);
    braid_out zero = tg_enter(&outer, tg_int(g, NULL, 0), true);
    tg_loop_condition(&outer, tg2(g, "Less", NULL, outer.merge[0], limit));
    braid_push_device(g, "/cpu:1");
    tg_loop inner = tg_loop_begin(g, "inner", 2, 2, (braid_out[]){zero, outer.body[1]});
    braid_out i = tg_enter(&inner, outer.body[0], true), inner_one = tg_enter(&inner, one, true);
    tg_loop_condition(&inner, tg2(g, "Less", NULL, inner.merge[0], i));
    braid_push_device(g, "/cpu:2");
    braid_out sum = tg2(g, "Add", NULL, inner.body[1], inner_one);
    braid_pop_device(g);
    tg_loop_end(&inner, (braid_out[]){tg2(g, "Add", NULL, inner.body[0], inner_one), sum});
    braid_pop_device(g);
    tg_loop_end(&outer, (braid_out[]){tg2(g, "Add", NULL, outer.body[0], one), inner.exit[1]});
    braid_session *s = tg_session(g, &three_devices);
    for (int n = 0; n < 7; n++) {
        braid_feed feed = {rows, braid_tensor_int32(n)};
        tg_assert_fetch(s, outer.exit[1], &feed, n * (n - 1) / 2);
        braid_tensor_free((braid_tensor *)feed.value);
    }
    tg_close(s, g);
}

static void an_error_on_one_device_ends_the_others(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_push_device(g, "/cpu:0");
    braid_out bad = tg1(g, "TestFail", "bad", tg_float(g, NULL, 1));
    braid_push_device(g, "/cpu:1");
    braid_out got = tg1(g, "Neg", "got", bad); // waits without end
    braid_push_device(g, "/cpu:2");
    braid_out wait = braid_output(tg_after(g, "TestWait", "wait", 0, NULL), 0);
    braid_out sum = tg2(g, "Add", NULL, got, wait);
    braid_session *s = tg_session(g, &three_devices);
    for (int i = 0; i < 30; i++) {
        BD_STATUS(st);
        braid_tensor *value;
        tg_try(s, sum, NULL, &value, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, "[[{{node bad}}]]");
        assert_false(test_wait_end(0));
    }
    tg_close(s, g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_output_crosses_once_for_each_device),
        cmocka_unit_test(both_ends_of_a_cut_have_one_key),
        cmocka_unit_test(a_control_edge_crosses_as_an_empty_constant),
        cmocka_unit_test(floats_may_cross_as_bfloat16),
        cmocka_unit_test(parts_are_tasks_or_devices),
        cmocka_unit_test(each_reader_of_a_variable_receives_for_itself),
        cmocka_unit_test(fetches_are_sent_with_the_incarnation_of_their_device),
        cmocka_unit_test(every_device_of_a_loop_gets_its_control),
        cmocka_unit_test(a_loop_without_a_predicate_cannot_be_cut),
        cmocka_unit_test(values_and_deadness_cross_devices),
        cmocka_unit_test(a_loop_over_devices_goes_round_on_each),
        cmocka_unit_test(nested_loops_over_devices_go_round),
        cmocka_unit_test(an_error_on_one_device_ends_the_others),
    };
    return TG_RUN_TESTS_WITH_AND_WITHOUT_REWRITES(tests);
}
