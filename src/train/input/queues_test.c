// Queues of each kind: the order and the shapes of what leaves them, and errors of building.
// labels: concurrent
#include "base/testing/test.h"

#include "train/testing/evaluate.h"
#include <braid/braid.h>

static braid_out int64s(braid_graph *g, braid_shape shape, const int64_t *values)
{
    braid_tensor *t = braid_tensor_from(BRAID_INT64, shape, values, NULL);
    const braid_out out = braid_const(g, NULL, t);
    braid_tensor_free(t);
    return out;
}

// Fetches int64 values of a shape.
static void expect(braid_session *s, braid_out out, braid_shape shape, const int64_t *values)
{
    braid_tensor *t = evaluate_tensor(s, out);
    assert_true(braid_shape_equal(braid_tensor_shape(t), shape));
    assert_memory_equal(braid_tensor_data(t), values,
                        (size_t)braid_shape_num_elements(shape) * sizeof *values);
    braid_tensor_free(t);
}

static const braid_dtype int64_type = BRAID_INT64;

static void a_padding_queue_fills_the_elements_of_a_batch_up_to_the_largest(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_queue q = braid_padding_fifo_queue(
        g, &(braid_queue_options){.dtypes = &int64_type, .shapes = &BRAID_SHAPE(-1), .count = 1});
    const braid_out one = int64s(g, BRAID_SHAPE(1), (int64_t[]){1}),
                    three = int64s(g, BRAID_SHAPE(3), (int64_t[]){2, 3, 4});
    braid_op *first = braid_queue_enqueue(g, q, &one), *second = braid_queue_enqueue(g, q, &three);
    braid_out batch;
    braid_queue_dequeue_many(g, q, 2, &batch);
    assert_true(braid_shape_equal(braid_out_shape(batch), BRAID_SHAPE(2, -1)));
    assert_non_null(braid_graph_find(g, "padding_fifo_queue_DequeueMany/n"));
    braid_session *s = evaluate_open(g);
    evaluate_run(s, first);
    evaluate_run(s, second);
    expect(s, batch, BRAID_SHAPE(2, 3), (int64_t[]){1, 0, 0, 2, 3, 4});
    evaluate_close(s, g);
}

static void a_priority_queue_gives_the_lowest_number_first(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_queue q = braid_priority_queue(
        g, &(braid_queue_options){.dtypes = &int64_type, .shapes = &(braid_shape){0}, .count = 1});
    assert_int_equal(q.count, 2);
    const braid_out elements[] = {int64s(g, BRAID_SHAPE(4), (int64_t[]){5, -1, 5, 2}),
                                  int64s(g, BRAID_SHAPE(4), (int64_t[]){10, 20, 30, 40})};
    braid_op *enqueue = braid_queue_enqueue_many(g, q, elements);
    braid_out out[2];
    braid_queue_dequeue_many(g, q, 4, out);
    braid_session *s = evaluate_open(g);
    evaluate_run(s, enqueue);
    expect(s, out[1], BRAID_SHAPE(4), (int64_t[]){20, 40, 10, 30}); // equal ones in the order of arrival
    evaluate_close(s, g);
}

static void each_step_chooses_a_queue(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_shape shapes[] = {BRAID_SHAPE(2, 1), BRAID_SHAPE(2, 2)};
    braid_queue queues[2];
    braid_op *enqueues[2];
    for (int i = 0; i < 2; i++) {
        queues[i] = braid_fifo_queue(
            g, &(braid_queue_options){.dtypes = &int64_type, .shapes = &shapes[i], .count = 1});
        const braid_out element = int64s(g, shapes[i], (int64_t[]){i, i, i, i});
        enqueues[i] = braid_queue_enqueue(g, queues[i], &element);
    }
    // While queue 1 has its element its size is its number, and then that of queue 0.
    const braid_queue chosen = braid_queue_select(g, braid_queue_size(g, queues[1]), queues, 2);
    braid_out element;
    braid_queue_dequeue(g, chosen, &element);
    assert_true(braid_shape_equal(braid_out_shape(element), BRAID_SHAPE(2, -1))); // what is common to both
    braid_session *s = evaluate_open(g);
    evaluate_run(s, enqueues[0]);
    evaluate_run(s, enqueues[1]);
    expect(s, element, shapes[1], (int64_t[]){1, 1, 1, 1});
    expect(s, element, shapes[0], (int64_t[]){0, 0});
    evaluate_close(s, g);
}

static void a_closed_queue_says_so_and_refuses_elements(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    const braid_queue q = braid_fifo_queue(g, &(braid_queue_options){.dtypes = &int64_type, .count = 1});
    const braid_out element = int64s(g, (braid_shape){0}, (int64_t[]){7}),
                    is_closed = braid_cast(g, braid_queue_is_closed(g, q), BRAID_INT64),
                    size = braid_cast(g, braid_queue_size(g, q), BRAID_INT64);
    braid_op *enqueue = braid_queue_enqueue(g, q, &element), *close = braid_queue_close(g, q, false);
    braid_session *s = evaluate_open(g);
    evaluate_run(s, enqueue);
    expect(s, is_closed, (braid_shape){0}, (int64_t[]){0});
    evaluate_run(s, close);
    expect(s, is_closed, (braid_shape){0}, (int64_t[]){1});
    expect(s, size, (braid_shape){0}, (int64_t[]){1});
    assert_int_equal(braid_session_run(s, &(braid_run_args){.targets = &enqueue, .target_count = 1}, st),
                     BRAID_CANCELLED);
    evaluate_close(s, g);
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
    static const braid_dtype float_type = BRAID_FLOAT;
    const braid_queue_options int64_options = {.dtypes = &int64_type, .count = 1};
    braid_out out;
    braid_graph *g = braid_graph_new();
    braid_queue_dequeue(g, (braid_queue){0}, &out);
    expect_failure(g, "its queue is nothing");
    g = braid_graph_new();
    (void)braid_fifo_queue(g, &(braid_queue_options){0});
    expect_failure(g, "its elements have no components");
    g = braid_graph_new();
    (void)braid_padding_fifo_queue(g, &int64_options);
    expect_failure(g, "its components have no shapes");
    g = braid_graph_new();
    (void)braid_padding_fifo_queue(
        g, &(braid_queue_options){.dtypes = &int64_type, .shapes = &BRAID_SHAPE_UNKNOWN, .count = 1});
    expect_failure(g, "the shape of component 0 has no known rank");
    g = braid_graph_new();
    braid_queue_dequeue(g, braid_fifo_queue(g, &int64_options), NULL);
    expect_failure(g, "QueueDequeueV2: its array of results is NULL");
    g = braid_graph_new();
    braid_queue_dequeue_many(g, braid_fifo_queue(g, &int64_options), 0, &out);
    expect_failure(g, "QueueDequeueManyV2: 0 elements");
    g = braid_graph_new();
    const braid_queue queues[] = {
        braid_fifo_queue(g, &int64_options),
        braid_fifo_queue(g, &(braid_queue_options){.dtypes = &float_type, .count = 1})};
    (void)braid_queue_select(g, braid_const_int32(g, NULL, 0), queues, 2);
    expect_failure(g, "'fifo_queue' and 'fifo_queue_1' of a choice have components of different types");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_padding_queue_fills_the_elements_of_a_batch_up_to_the_largest),
        cmocka_unit_test(a_priority_queue_gives_the_lowest_number_first),
        cmocka_unit_test(each_step_chooses_a_queue),
        cmocka_unit_test(a_closed_queue_says_so_and_refuses_elements),
        cmocka_unit_test(wrong_queues_fail_the_graph),
    };
    return BD_RUN_TESTS(tests);
}
