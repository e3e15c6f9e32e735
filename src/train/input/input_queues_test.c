// Queues filled by queue runners: what sessions get from them, and errors of building.
// labels: concurrent
#include "base/testing/test.h"

#include "base/alloc.h"
#include <braid/braid.h>
#include <stdlib.h>
#include <unistd.h>

// Initializes, starts the queue runners, and runs `out` (int32) until the end of the input.
static int elements(braid_graph *g, braid_out out, int32_t *values, int max)
{
    BD_STATUS(st);
    braid_op *init = braid_local_variables_initializer(g);
    braid_graph_status(g, st);
    assert_ok(st);
    braid_session *s = braid_session_open(g, NULL, st);
    assert_ok(st);
    braid_session_run(s, &(braid_run_args){.targets = &init, .target_count = 1}, st);
    assert_ok(st);
    braid_coordinator *c = braid_coordinator_new();
    braid_start_queue_runners(g, s, c, st);
    assert_ok(st);
    int count = 0;
    for (braid_tensor *t = NULL;; braid_tensor_free(t)) {
        const braid_run_args args = {.fetches = &(braid_fetch){out, &t}, .fetch_count = 1};
        if (braid_session_run(s, &args, st)) break;
        for (int64_t i = 0; i < braid_tensor_num_elements(t) && count < max; i++)
            values[count++] = ((const int32_t *)braid_tensor_data(t))[i];
    }
    assert_int_equal(st->code, BRAID_OUT_OF_RANGE);
    braid_status_clear(st);
    braid_coordinator_request_stop(c, NULL);
    assert_int_equal(braid_coordinator_join(c, 0, st), BRAID_OK); // all threads have ended
    braid_coordinator_free(c);
    braid_session_close(s, st);
    return count;
}

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
    assert_int_equal(elements(g, number, got, 16), 6);
    assert_memory_equal(got, wanted, sizeof wanted);
    static const char *const names[] = {
        "input_producer", "input_producer/limit_epochs", "input_producer/limit_epochs/epochs",
        "input_producer/limit_epochs/CountUpTo", "input_producer/input_producer_EnqueueMany"};
    for (size_t i = 0; i < BD_COUNTOF(names); i++) {
        if (!braid_graph_find(g, names[i])) fail_msg("no node %s", names[i]);
    }
    braid_graph_free(g);
}

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
        const int count = elements(g, batch, got, 16);
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
    assert_int_equal(elements(g, batch, got, 256), 200);
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

static void wrong_queues_fail_the_graph(void **state)
{
    (void)state;
    braid_out out = {NULL, 0};
    braid_graph *g = braid_graph_new();
    braid_queue_dequeue(g, (braid_queue){0}, &out);
    expect_failure(g, "its queue is nothing");
    g = braid_graph_new();
    braid_queue_dequeue(g, braid_range_input_producer(g, 3, NULL), NULL);
    expect_failure(g, "QueueDequeueV2: its array of results is NULL");
    g = braid_graph_new();
    out = braid_const_int64(g, NULL, 1);
    braid_batch(g, &out, 1, &(braid_batch_options){.batch_size = 2}, NULL);
    expect_failure(g, "A batch of 1 tensors, of which an array is NULL");
    g = braid_graph_new();
    (void)braid_string_input_producer(g, braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(2)), NULL);
    expect_failure(g, "an input of float");
    g = braid_graph_new();
    (void)braid_input_producer(g, braid_const_string(g, "file", "a"), NULL);
    expect_failure(g, "slices of 'file', which has none");
    g = braid_graph_new();
    out = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1));
    braid_batch(g, &out, 1, &(braid_batch_options){.batch_size = 2}, &out);
    expect_failure(g, "has a shape that is not fully known");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_producer_in_order_ends_after_its_epochs),
        cmocka_unit_test(batches_are_whole_unless_a_smaller_one_is_allowed),
        cmocka_unit_test(shuffled_batches_by_several_threads_hold_each_element_once),
        cmocka_unit_test(a_monitored_session_trains_on_the_records_of_files),
        cmocka_unit_test(wrong_queues_fail_the_graph),
    };
    return BD_RUN_TESTS(tests);
}
