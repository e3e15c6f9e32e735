// Copying parts of graphs.
#include "graph/subgraph.h"

#include <stdio.h>

#include "graph/testing/test_ops.h"

typedef struct fixture {
    braid_graph *from, *to;
    braid_op *map[32];
} fixture;

static fixture begin(void)
{
    return (fixture){.from = braid_graph_new(), .to = braid_graph_new()};
}

static void end(fixture *f)
{
    braid_graph_free(f->from);
    braid_graph_free(f->to);
}

static braid_code copy(fixture *f, braid_op *root, const bd_replacement *replacements, int count,
                       braid_status *st)
{
    bd_subgraph_spec spec = {
        .roots = &root, .root_count = 1, .replacements = replacements, .replacement_count = count};
    assert_true(f->from->nodes.len < BD_COUNTOF(f->map));
    return bd_subgraph(f->from, &spec, f->to, f->map, st);
}

static void a_copy_has_the_closure_of_its_roots(void **state)
{
    (void)state;
    BD_STATUS(st);
    fixture f = begin();
    braid_out x = test_placeholder(f.from, "x", BRAID_FLOAT, BRAID_SHAPE(2)),
              unused = bd_b1(f.from, "Neg", "unused", x);
    braid_op *first = test_no_op(f.from, "first");
    braid_out y = bd_b1(f.from, "Neg", "y", x), z = bd_b2(f.from, "Mul", "z", y, x);
    bd_node_add_control(y.op, first);
    copy(&f, z.op, NULL, 0, st);
    assert_ok(st);
    assert_int_equal(braid_graph_num_ops(f.to), 4);
    assert_null(f.map[unused.op->id]);
    braid_op *copied = braid_graph_find(f.to, "z");
    assert_ptr_equal(f.map[z.op->id], copied);
    assert_ptr_equal(copied->inputs[0].op, braid_graph_find(f.to, "y"));
    assert_ptr_equal(copied->inputs[0].op->controls[0], braid_graph_find(f.to, "first"));
    assert_shape(copied->output_shapes[0], "[2]");
    assert_string_equal(braid_graph_op(f.to, 0)->name, "x"); // in the same order
    end(&f);
}

static void replaced_outputs_are_not_followed(void **state)
{
    (void)state;
    BD_STATUS(st);
    fixture f = begin();
    braid_out x = test_placeholder(f.from, "x", BRAID_FLOAT, BRAID_SCALAR), y = bd_b1(f.from, "Neg", "y", x);
    braid_out z = bd_b2(f.from, "Mul", "z", y, y);
    bd_node_add_control(z.op, y.op);
    braid_out feed = test_placeholder(f.to, "feed", BRAID_FLOAT, BRAID_SCALAR);
    bd_replacement replacements[] = {{.from = y, .to = feed}, {.from = {y.op, -1}, .to = feed}};
    copy(&f, z.op, replacements, 2, st);
    assert_ok(st);
    assert_int_equal(braid_graph_num_ops(f.to), 2);
    braid_op *copied = braid_graph_find(f.to, "z");
    assert_ptr_equal(copied->inputs[0].op, feed.op);
    assert_ptr_equal(copied->inputs[1].op, feed.op);
    assert_ptr_equal(copied->controls[0], feed.op);
    end(&f);

    // The control edge alone keeps the node, or is dropped.
    for (int dropped = 0; dropped < 2; dropped++) {
        f = begin();
        x = test_placeholder(f.from, "x", BRAID_FLOAT, BRAID_SCALAR);
        y = bd_b1(f.from, "Neg", "y", x);
        bd_node_add_control(y.op, x.op);
        feed = test_placeholder(f.to, "feed", BRAID_FLOAT, BRAID_SCALAR);
        bd_replacement some[] = {{.from = x, .to = feed}, {.from = {x.op, -1}}};
        copy(&f, y.op, some, 1 + dropped, st);
        assert_ok(st);
        assert_int_equal(braid_graph_find(f.to, "x") == NULL, dropped);
        assert_int_equal(braid_graph_find(f.to, "y")->control_count, !dropped);
        end(&f);
    }
}

static void a_replaced_root_stays(void **state)
{
    (void)state;
    BD_STATUS(st);
    fixture f = begin();
    braid_out x = test_placeholder(f.from, "x", BRAID_FLOAT, BRAID_SCALAR);
    braid_out feed = test_placeholder(f.to, "feed", BRAID_FLOAT, BRAID_SCALAR);
    bd_replacement replacement = {.from = x, .to = feed};
    copy(&f, x.op, &replacement, 1, st);
    assert_ok(st);
    assert_non_null(braid_graph_find(f.to, "x"));
    end(&f);
}

static void loops_are_copied(void **state)
{
    (void)state;
    BD_STATUS(st);
    fixture f = begin();
    braid_out x = test_placeholder(f.from, "x", BRAID_FLOAT, BRAID_SCALAR);
    braid_op_desc *d = braid_op_begin(f.from, "Merge", "merge");
    braid_op_input_list(d, (braid_out[]){x, x}, 2);
    braid_op *merge = braid_op_end(d);
    braid_out next = bd_b1(f.from, "NextIteration", "next", braid_output(merge, 0));
    bd_node_set_input(merge, 1, next);
    copy(&f, merge, NULL, 0, st);
    assert_ok(st);
    assert_int_equal(braid_graph_num_ops(f.to), 3);
    assert_ptr_equal(braid_graph_find(f.to, "merge")->inputs[1].op, braid_graph_find(f.to, "next"));
    assert_ptr_equal(braid_graph_find(f.to, "next")->inputs[0].op, braid_graph_find(f.to, "merge"));
    end(&f);
}

static void a_used_name_is_refused(void **state)
{
    (void)state;
    BD_STATUS(st);
    fixture f = begin();
    test_no_op(f.to, "x");
    copy(&f, test_no_op(f.from, "x"), NULL, 0, st);
    assert_error(st, BRAID_ALREADY_EXISTS, "Node 'x' (op: 'NoOp')");
    end(&f);
}

// Depth and width are no trouble.
static void large_graphs_are_copied_without_recursion(void **state)
{
    (void)state;
    enum {
        NODES = 100000
    };
    BD_STATUS(st);
    fixture f = begin();
    braid_op **all = bd_calloc(NODES, sizeof *all), **map = bd_calloc(NODES + 1, sizeof *map);
    for (int i = 0; i < NODES; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        bd_node_spec spec = {
            .name = name, .op_type = "NoOp", .controls = i ? &all[i - 1] : NULL, .control_count = i > 0};
        bd_graph_add(f.from, &spec, &all[i], st);
        assert_ok(st);
    }
    braid_op *last;
    bd_node_spec spec = {.name = "last", .op_type = "NoOp", .controls = all, .control_count = NODES};
    bd_graph_add(f.from, &spec, &last, st);
    assert_ok(st);
    bd_subgraph_spec what = {.roots = &last, .root_count = 1};
    bd_subgraph(f.from, &what, f.to, map, st);
    assert_ok(st);
    assert_int_equal(braid_graph_num_ops(f.to), NODES + 1);
    assert_int_equal(map[NODES]->control_count, NODES);
    bd_op_list order = {0};
    bd_graph_topological(f.to, &order, st);
    assert_ok(st);
    assert_int_equal(order.len, NODES + 1);
    bd_array_free(&order);
    bd_free(all);
    bd_free(map);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_has_the_closure_of_its_roots),
        cmocka_unit_test(replaced_outputs_are_not_followed),
        cmocka_unit_test(a_replaced_root_stays),
        cmocka_unit_test(loops_are_copied),
        cmocka_unit_test(a_used_name_is_refused),
        cmocka_unit_test(large_graphs_are_copied_without_recursion),
    };
    return BD_RUN_TESTS(tests);
}
