// Cost models from the statistics and graphs of tasks, which may be malformed.
#include "runtime/testing/test_ops.h"

#include "proto/pack.h"
#include "proto/text_format.h"
#include "runtime/cost_graph.h"
#include "tensorflow/core/framework/cost_graph.pb-c.h"
#include "tensorflow/core/protobuf/config.pb-c.h"
#include <string.h>

// Makes the cost model of two texts, in the arena. NULL: it has no nodes.
static const Tensorflow__CostGraphDef *make(const char *stats_text, const char *graphs_text,
                                            bd_proto_arena *arena)
{
    BD_STATUS(st);
    bd_message stats, graphs, out;
    bd_message_init(&stats);
    bd_message_init(&graphs);
    bd_message_init(&out);
    bd_text_format_to_wire(&tensorflow__step_stats__descriptor, stats_text, strlen(stats_text), &stats, st);
    bd_text_format_to_wire(&tensorflow__run_metadata__descriptor, graphs_text, strlen(graphs_text), &graphs,
                           st);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &out);
    bd_cost_graph_put(&stats, &graphs, 2, &writer, st);
    bd_wire_writer_finish(&writer);
    const Tensorflow__RunMetadata *m =
        bd_proto_unpack_message(&tensorflow__run_metadata__descriptor, &out, arena, st);
    assert_ok(st);
    bd_message_fini(&stats);
    bd_message_fini(&graphs);
    bd_message_fini(&out);
    return m->cost_graph;
}

static void nodes_of_all_graphs_hang_together_by_id(void **state)
{
    (void)state;
    BD_PROTO_ARENA(arena);
    const Tensorflow__CostGraphDef *c = make(
        "dev_stats { device: 'd' node_stats { node_name: 'b' op_start_rel_micros: 2 op_end_rel_micros: 9"
        "  output { slot: 1 tensor_description { dtype: DT_FLOAT shape { dim { size: 3 } }"
        "    allocation_description { requested_bytes: 12 } } } } }",
        "partition_graphs { node { name: 'a' op: 'Const' } }"
        "partition_graphs { node { name: 'send' op: '_Send' input: 'b:1' input: '^a' }"
        "  node { name: 'b' op: 'Split' device: 'd' input: 'a' input: 'elsewhere' } node { name: 'a' } }",
        arena);
    assert_int_equal(c->n_node, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(c->node[i]->id, i);
    const Tensorflow__CostGraphDef__Node *send = c->node[1], *b = c->node[2];
    assert_true(send->is_final && !b->is_final);
    assert_int_equal(send->n_input_info, 1);
    assert_int_equal(send->input_info[0]->preceding_node, 2);
    assert_int_equal(send->input_info[0]->preceding_port, 1);
    assert_int_equal(send->n_control_input, 1);
    assert_int_equal(send->control_input[0], 3); // in its own graph
    assert_string_equal(b->device, "d");
    assert_int_equal(b->compute_cost, 7);
    assert_int_equal(b->n_input_info, 1);
    assert_int_equal(b->n_output_info, 2);
    assert_int_equal(b->output_info[0]->size, 0); // was not made
    assert_int_equal(b->output_info[1]->size, 12);
    assert_int_equal(b->output_info[1]->shape->dim[0]->size, 3);
}

static void odd_records_do_no_harm(void **state)
{
    (void)state;
    BD_PROTO_ARENA(arena);
    const Tensorflow__CostGraphDef *c = make(
        "dev_stats { node_stats { node_name: 'b' op_end_rel_micros: -1"
        "  output { slot: -1 } output { slot: 2147483647 } output { slot: 0 } output { slot: 0 } } }",
        "partition_graphs { node { name: 'b' input: '' input: '^' input: ':' input: 'b:-7' input: 'b:x' } node {} }",
        arena);
    assert_int_equal(c->n_node, 2);
    assert_int_equal(c->node[0]->n_output_info, 1);
    assert_int_equal(c->node[0]->output_info[0]->alias_input_port, -1);
    assert_null(make("", "", arena)->node);
}

static void malformed_input_is_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_message broken, empty, out;
    bd_message_init(&broken);
    bd_message_init(&empty);
    bd_message_init(&out);
    bd_message_add_copy(&broken, "\x0a\x7f", 2);
    for (int i = 0; i < 2; i++) {
        bd_wire_writer writer;
        bd_wire_writer_init(&writer, &out);
        bd_cost_graph_put(i ? &broken : &empty, i ? &empty : &broken, 2, &writer, st);
        bd_wire_writer_finish(&writer);
        assert_error(st, BRAID_INVALID_ARGUMENT, "");
        assert_int_equal(out.bytes, 0);
        braid_status_clear(st);
    }
    bd_message_fini(&broken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_of_all_graphs_hang_together_by_id),
        cmocka_unit_test(odd_records_do_no_harm),
        cmocka_unit_test(malformed_input_is_an_error),
    };
    return BD_RUN_TESTS(tests);
}
