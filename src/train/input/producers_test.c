// Producers: what sessions get from them, their nodes, and errors of building.
// labels: concurrent
#include "base/testing/test.h"

#include "train/testing/graph_text.h"
#include "train/testing/queue_elements.h"
#include <braid/braid.h>
#include <string.h>

static void a_producer_in_order_ends_after_its_epochs(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_queue q = braid_range_input_producer(
        g, 3, &(braid_producer_options){.num_epochs = 2, .in_order = true, .capacity = 2});
    braid_out number;
    int32_t got[16];
    static const int32_t wanted[] = {0, 1, 2, 0, 1, 2};
    braid_queue_dequeue(g, q, &number);
    assert_int_equal(queue_elements(g, number, got, 16), 6);
    assert_memory_equal(got, wanted, sizeof wanted);
    braid_graph_free(g);
}

static void slices_of_several_tensors_belong_together(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out tensors[] = {braid_const_int32s(g, NULL, (int32_t[]){1, 2, 3}, 3),
                                 braid_const_int32s(g, NULL, (int32_t[]){10, 20, 30}, 3)};
    braid_out slices[2];
    braid_slice_input_producer(g, tensors, 2, &(braid_producer_options){.num_epochs = 2}, slices);
    assert_true(braid_shape_equal(braid_out_shape(slices[0]), (braid_shape){0}));
    int32_t got[16];
    int seen[34] = {0};
    assert_int_equal(queue_elements(g, braid_add(g, slices[0], slices[1]), got, 16), 6);
    for (int i = 0; i < 6; i++)
        seen[got[i] < 34 ? got[i] : 0]++;
    assert_int_equal(seen[11], 2);
    assert_int_equal(seen[22], 2);
    assert_int_equal(seen[33], 2);
    braid_graph_free(g);
}

static void producers_are_made_of_tensorflows_nodes(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out files =
        braid_reshape(g, braid_const_string(g, "files", "a"), BRAID_SHAPE(1)); // Reshape:0
    (void)braid_string_input_producer(g, files, &(braid_producer_options){.num_epochs = 2, .capacity = 8});
    const braid_out numbers = braid_const_int32s(g, "numbers", (int32_t[]){4, 5}, 2);
    braid_out slice;
    braid_slice_input_producer(g, &numbers, 1, &(braid_producer_options){.in_order = true, .name = "slices"},
                               &slice);
    expect_nodes(
        g, "input_producer",
        "input_producer/Size = Const\n"
        "input_producer/Greater/y = Const\n"
        "input_producer/Greater = Greater input_producer/Size:0 input_producer/Greater/y:0\n"
        "input_producer/Assert/Assert/data_0 = Const\n"
        "input_producer/Assert/Assert = Assert input_producer/Greater:0 input_producer/Assert/Assert/data_0:0\n"
        "input_producer/Identity = Identity Reshape:0 ^input_producer/Assert/Assert\n"
        "input_producer/RandomShuffle = RandomShuffle input_producer/Identity:0\n"
        "input_producer/limit_epochs/Const = Const\n"
        "input_producer/limit_epochs/epochs = VariableV2\n"
        "input_producer/limit_epochs/epochs/Assign = Assign input_producer/limit_epochs/epochs:0 "
        "input_producer/limit_epochs/Const:0 =input_producer/limit_epochs/epochs\n"
        "input_producer/limit_epochs/epochs/read = Identity input_producer/limit_epochs/epochs:0 "
        "=input_producer/limit_epochs/epochs\n"
        "input_producer/limit_epochs/CountUpTo = CountUpTo input_producer/limit_epochs/epochs:0\n"
        "input_producer/limit_epochs = Identity input_producer/RandomShuffle:0 "
        "^input_producer/limit_epochs/CountUpTo\n"
        "input_producer = FIFOQueueV2\n"
        "input_producer/input_producer_EnqueueMany = QueueEnqueueManyV2 input_producer:0 "
        "input_producer/limit_epochs:0\n"
        "input_producer/input_producer_Close = QueueCloseV2 input_producer:0\n"
        "input_producer/input_producer_Close_1 = QueueCloseV2 input_producer:0\n"
        "input_producer/input_producer_Size = QueueSizeV2 input_producer:0\n"
        "input_producer/Cast = Cast input_producer/input_producer_Size:0\n"
        "input_producer/mul/y = Const\n"
        "input_producer/mul = Mul input_producer/Cast:0 input_producer/mul/y:0\n"
        "input_producer/fraction_of_8_full/tags = Const\n"
        "input_producer/fraction_of_8_full = ScalarSummary input_producer/fraction_of_8_full/tags:0 "
        "input_producer/mul:0\n");
    static const char *const names[] = {"slices/strided_slice", "slices/input_producer/range",
                                        "slices/input_producer", "slices/input_producer/fraction_of_32_full",
                                        "slices/input_producer_Dequeue"};
    for (size_t i = 0; i < BD_COUNTOF(names); i++)
        if (!braid_graph_find(g, names[i])) fail_msg("no node %s", names[i]);
    assert_string_equal(braid_op_name(slice.op), "slices/GatherV2");
    braid_graph_free(g);
}

static void a_vector_of_no_strings_is_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_tensor *none = braid_tensor_new(BRAID_STRING, BRAID_SHAPE(0), NULL);
    (void)braid_string_input_producer(g, braid_const(g, NULL, none), NULL);
    braid_tensor_free(none);
    braid_session *s = braid_session_open(g, NULL, st);
    assert_ok(st);
    braid_op *enqueue = braid_graph_find(g, "input_producer/input_producer_EnqueueMany");
    braid_session_run(s, &(braid_run_args){.targets = &enqueue, .target_count = 1}, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "string_input_producer requires a non-null input tensor");
    braid_session_close(s, st);
    braid_graph_free(g);
}

static void expect_failure(braid_graph *g, const char *text)
{
    BD_STATUS(st);
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, text);
    braid_graph_free(g);
}

static void wrong_producers_fail_the_graph(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    (void)braid_string_input_producer(g, braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(2)), NULL);
    expect_failure(g, "an input of float");
    g = braid_graph_new();
    (void)braid_input_producer(g, braid_const_string(g, "file", "a"), NULL);
    expect_failure(g, "slices of 'file', which has none");
    g = braid_graph_new();
    (void)braid_range_input_producer(g, 0, NULL);
    expect_failure(g, "A range of 0 numbers");
    g = braid_graph_new();
    const braid_out tensors[] = {braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2, 3)),
                                 braid_placeholder(g, "y", BRAID_FLOAT, BRAID_SHAPE(3))};
    braid_out slices[2];
    braid_slice_input_producer(g, tensors, 2, NULL, slices);
    assert_null(slices[1].op);
    expect_failure(g, "slices of 'y', which has 3, but of an earlier tensor, which has 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_producer_in_order_ends_after_its_epochs),
        cmocka_unit_test(slices_of_several_tensors_belong_together),
        cmocka_unit_test(producers_are_made_of_tensorflows_nodes),
        cmocka_unit_test(a_vector_of_no_strings_is_an_error),
        cmocka_unit_test(wrong_producers_fail_the_graph),
    };
    return BD_RUN_TESTS(tests);
}
