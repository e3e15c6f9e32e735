// Batches: what sessions get from them, their nodes, and errors of building.
// labels: concurrent
#include "base/testing/test.h"

#include "train/testing/graph_text.h"
#include "train/testing/queue_elements.h"
#include <braid/braid.h>
#include <stdlib.h>
#include <unistd.h>

static void batches_are_whole_unless_a_smaller_one_is_allowed(void **state)
{
    (void)state;
    for (int smaller = 0; smaller < 2; smaller++) {
        braid_graph *g = braid_graph_new();
        const braid_queue q =
            braid_range_input_producer(g, 5, &(braid_producer_options){.num_epochs = 1, .in_order = true});
        braid_out number, batch;
        int32_t got[16];
        static const int32_t wanted[] = {0, 1, 2, 3, 4};
        braid_queue_dequeue(g, q, &number);
        braid_batch(g, &number, 1,
                    &(braid_batch_options){.batch_size = 2, .allow_smaller_final_batch = smaller}, &batch);
        assert_true(braid_shape_equal(braid_out_shape(batch), smaller ? BRAID_SHAPE(-1) : BRAID_SHAPE(2)));
        const int count = queue_elements(g, batch, got, 16);
        assert_int_equal(count, smaller ? 5 : 4);
        assert_memory_equal(got, wanted, (size_t)count * sizeof *got);
        braid_graph_free(g);
    }
}

static void shuffled_batches_by_several_threads_hold_each_element_once(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_queue q = braid_range_input_producer(g, 200, &(braid_producer_options){.num_epochs = 1});
    braid_out number, batch;
    int32_t got[256];
    bool seen[200] = {0}, in_order = true;
    braid_queue_dequeue(g, q, &number);
    braid_shuffle_batch(g, &number, 1,
                        &(braid_batch_options){.batch_size = 10, .num_threads = 3, .min_after_dequeue = 30},
                        &batch);
    assert_int_equal(queue_elements(g, batch, got, 256), 200);
    for (int i = 0; i < 200; i++) {
        assert_true(got[i] >= 0 && got[i] < 200 && !seen[got[i]]);
        seen[got[i]] = true;
        in_order = in_order && got[i] == i;
    }
    assert_false(in_order);
    braid_graph_free(g);
}

static void a_monitored_session_trains_on_the_records_of_files(void **state)
{
    (void)state;
    BD_STATUS(st);
    char path[] = "/tmp/braid-queues-XXXXXX";
    close(mkstemp(path));
    braid_record_writer *w = braid_record_writer_open(path, BRAID_COMPRESSION_GZIP, st);
    braid_example *e = braid_example_new();
    for (int64_t i = 1; i <= 10; i++) {
        size_t len;
        braid_example_clear(e);
        braid_example_int64s(e, "x", &i, 1);
        const void *data = braid_example_serialize(e, &len, st);
        braid_record_write(w, data, len, st);
    }
    braid_example_free(e);
    braid_record_writer_close(w, st);
    assert_ok(st);

    braid_graph *g = braid_graph_new();
    const braid_out files = braid_reshape(g, braid_const_string(g, NULL, path), BRAID_SHAPE(1));
    const braid_queue q = braid_string_input_producer(g, files, &(braid_producer_options){.num_epochs = 3});
    const braid_read record = braid_reader_read(g, braid_tf_record_reader(g, "GZIP"), q);
    braid_out batch;
    braid_batch(g, &record.value, 1, &(braid_batch_options){.batch_size = 5}, &batch);
    const braid_feature feature = {.name = "x", .dtype = BRAID_INT64};
    braid_parsed parsed;
    braid_parse_example(g, NULL, batch, &feature, 1, &parsed);
    const braid_out step = braid_global_step(g);
    braid_op *train = braid_assign_add(g, step, braid_reduce_sum(g, parsed.values)).op;
    braid_monitored_session *s = braid_monitored_session_open(g, &(braid_session_config){0});
    while (!braid_should_stop(s))
        braid_run(s, NULL, NULL, train);
    braid_tensor *sum = NULL;
    braid_evaluate(s, NULL, BRAID_FETCH({step, &sum}));
    assert_int_equal(*(const int64_t *)braid_tensor_data(sum), 3 * 55);
    braid_tensor_free(sum);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(g);
    unlink(path);
}

static void expect_failure(braid_graph *g, const char *text)
{
    BD_STATUS(st);
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, text);
    braid_graph_free(g);
}

static void each_list_of_a_join_is_enqueued_by_a_thread(void **state)
{
    (void)state;
    for (int shuffled = 0; shuffled < 2; shuffled++) {
        braid_graph *g = braid_graph_new();
        braid_out lists[2], batch;
        int32_t got[128];
        int seen[60] = {0};
        for (int i = 0; i < 2; i++)
            braid_queue_dequeue(
                g, braid_range_input_producer(g, 60, &(braid_producer_options){.num_epochs = 1}), &lists[i]);
        const braid_batch_options options = {.batch_size = 8, .allow_smaller_final_batch = true};
        if (shuffled)
            braid_shuffle_batch_join(g, lists, 2, 1, &options, &batch);
        else
            braid_batch_join(g, lists, 2, 1, &options, &batch);
        assert_int_equal(queue_elements(g, batch, got, 128), 120);
        for (int i = 0; i < 120; i++)
            seen[got[i]]++;
        for (int i = 0; i < 60; i++)
            assert_int_equal(seen[i], 2);
        braid_graph_free(g);
    }
}

// The numbers from 0 to `limit`, once, in order.
static braid_out numbers(braid_graph *g, int32_t limit)
{
    braid_out number;
    braid_queue_dequeue(
        g, braid_range_input_producer(g, limit, &(braid_producer_options){.num_epochs = 1, .in_order = true}),
        &number);
    return number;
}

static void a_padded_batch_has_the_size_of_its_largest_element(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out number = numbers(g, 4);
    braid_out batch;
    braid_op_desc *d = braid_op_begin(g, "Fill", NULL); // [n] elements n
    braid_op_input(d, braid_reshape(g, number, BRAID_SHAPE(1)));
    braid_op_input(d, number);
    const braid_out vector = braid_op_end_out(d);
    braid_batch(g, &vector, 1, &(braid_batch_options){.batch_size = 2, .dynamic_pad = true}, &batch);
    assert_true(braid_shape_equal(braid_out_shape(batch), BRAID_SHAPE(2, -1)));
    int32_t got[16];
    static const int32_t wanted[] = {0, 1, 2, 2, 0, 3, 3, 3};
    assert_int_equal(queue_elements(g, batch, got, 16), BD_COUNTOF(wanted));
    assert_memory_equal(got, wanted, sizeof wanted);
    braid_graph_free(g);
}

static braid_out is_odd(braid_graph *g, braid_out x)
{
    braid_op_desc *d = braid_op_begin(g, "FloorMod", NULL);
    braid_op_input(d, x);
    braid_op_input(d, braid_const_int32(g, NULL, 2));
    return braid_cast(g, braid_op_end_out(d), BRAID_BOOL);
}

static void elements_that_are_not_kept_are_dropped(void **state)
{
    (void)state;
    static const int32_t wanted[] = {1, 3, 5, 7};
    int32_t got[16];
    for (int many = 0; many < 2; many++) {
        braid_graph *g = braid_graph_new();
        braid_out input = numbers(g, 8);
        if (many) { // two at a time
            braid_out pair;
            braid_batch(g, &input, 1, &(braid_batch_options){.batch_size = 2}, &pair);
            input = pair;
        }
        const braid_batch_options options = {.batch_size = 3,
                                             .allow_smaller_final_batch = true,
                                             .enqueue_many = many,
                                             .keep_input = is_odd(g, input)};
        braid_out batch;
        braid_batch(g, &input, 1, &options, &batch);
        assert_int_equal(queue_elements(g, batch, got, 16), BD_COUNTOF(wanted));
        assert_memory_equal(got, wanted, sizeof wanted);
        braid_graph_free(g);
    }
}

static void batches_are_made_of_tensorflows_nodes(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out x = braid_const_int32(g, "x", 1);
    braid_out batch;
    braid_batch(g, &x, 1, &(braid_batch_options){.batch_size = 2}, &batch);
    braid_shuffle_batch(
        g, &x, 1, &(braid_batch_options){.batch_size = 2, .capacity = 50, .min_after_dequeue = 10}, &batch);
    expect_nodes(g, "batch",
                 "batch/fifo_queue = FIFOQueueV2\n"
                 "batch/fifo_queue_enqueue = QueueEnqueueV2 batch/fifo_queue:0 x:0\n"
                 "batch/fifo_queue_Close = QueueCloseV2 batch/fifo_queue:0\n"
                 "batch/fifo_queue_Close_1 = QueueCloseV2 batch/fifo_queue:0\n"
                 "batch/fifo_queue_Size = QueueSizeV2 batch/fifo_queue:0\n"
                 "batch/Cast = Cast batch/fifo_queue_Size:0\n"
                 "batch/mul/y = Const\n"
                 "batch/mul = Mul batch/Cast:0 batch/mul/y:0\n"
                 "batch/fraction_of_32_full/tags = Const\n"
                 "batch/fraction_of_32_full = ScalarSummary batch/fraction_of_32_full/tags:0 batch/mul:0\n"
                 "batch/n = Const\n"
                 "batch = QueueDequeueManyV2 batch/fifo_queue:0 batch/n:0\n");
    static const char *const names[] = {"shuffle_batch/random_shuffle_queue_enqueue",
                                        "shuffle_batch/sub/y",
                                        "shuffle_batch/sub",
                                        "shuffle_batch/Maximum/x",
                                        "shuffle_batch/Maximum",
                                        "shuffle_batch/Cast",
                                        "shuffle_batch/mul",
                                        "shuffle_batch/fraction_over_10_of_40_full",
                                        "shuffle_batch"};
    for (size_t i = 0; i < BD_COUNTOF(names); i++)
        if (!braid_graph_find(g, names[i])) fail_msg("no node %s", names[i]);
    braid_graph_free(g);
}

static void expect_refusal(const braid_out *tensors, int lists, const braid_batch_options *options,
                           braid_graph *g, const char *text)
{
    braid_out batch;
    braid_batch_join(g, tensors, lists, 1, options, &batch);
    assert_null(batch.op);
    expect_failure(g, text);
}

static void wrong_batches_fail_the_graph(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out out = braid_const_int64(g, NULL, 1);
    braid_batch(g, &out, 1, &(braid_batch_options){.batch_size = 2}, NULL);
    expect_failure(g, "A batch of 1 tensors, of which an array is NULL");
    g = braid_graph_new();
    out = braid_const_int64(g, NULL, 1);
    braid_shuffle_batch(g, &out, 1, &(braid_batch_options){.batch_size = 2, .dynamic_pad = true}, &out);
    expect_failure(g, "Shuffled batches are not padded");
    g = braid_graph_new();
    expect_refusal(&(braid_out){braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1)).op, 0}, 1,
                   &(braid_batch_options){.batch_size = 2}, g, "'x', has a shape that is not fully known");
    g = braid_graph_new();
    expect_refusal(&(braid_out){braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE_UNKNOWN).op, 0}, 1,
                   &(braid_batch_options){.batch_size = 2, .dynamic_pad = true}, g,
                   "'x', has a shape of no known rank");
    g = braid_graph_new();
    expect_refusal((braid_out[]){braid_const_int64(g, "a", 1), braid_const_float(g, "b", 1)}, 2,
                   &(braid_batch_options){.batch_size = 2}, g, "'b', is float, but int64 in list 0");
    g = braid_graph_new();
    expect_refusal((braid_out[]){braid_const_float(g, "a", 1), braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(2))},
                   2, &(braid_batch_options){.batch_size = 2}, g,
                   "has another shape than in an earlier list");
    g = braid_graph_new();
    expect_refusal((braid_out[]){braid_const_float(g, "a", 1), braid_const_float(g, "b", 1)}, 2,
                   &(braid_batch_options){.batch_size = 2, .num_threads = 3}, g,
                   "A batch of 2 lists, one thread for each, by 3 threads");
    g = braid_graph_new();
    out = braid_placeholder(g, "keep", BRAID_BOOL, BRAID_SHAPE(-1));
    expect_refusal((braid_out[]){braid_const_float(g, "a", 1)}, 1,
                   &(braid_batch_options){.batch_size = 2, .keep_input = out}, g,
                   "'keep', is a vector, but without enqueue_many");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_whole_unless_a_smaller_one_is_allowed),
        cmocka_unit_test(shuffled_batches_by_several_threads_hold_each_element_once),
        cmocka_unit_test(a_monitored_session_trains_on_the_records_of_files),
        cmocka_unit_test(each_list_of_a_join_is_enqueued_by_a_thread),
        cmocka_unit_test(a_padded_batch_has_the_size_of_its_largest_element),
        cmocka_unit_test(elements_that_are_not_kept_are_dropped),
        cmocka_unit_test(batches_are_made_of_tensorflows_nodes),
        cmocka_unit_test(wrong_batches_fail_the_graph),
    };
    return BD_RUN_TESTS(tests);
}
