// Tests of queues under many threads, and that waiting allocates no memory.
// labels: concurrent
#include "base/alloc.h"
#include "base/testing/test.h"
#include "ops/data_flow/queue.h"
#include "ops/testing/op_run.h"
#include "ops/testing/op_test.h"
#include "ops/testing/queue_nodes.h"

#include <stdio.h>

#define PRODUCERS 3
#define CONSUMERS 3
#define ELEMENTS 300 // of each producer

typedef struct crowd {
    queue_nodes n;
    atomic_int sums[PRODUCERS * ELEMENTS]; // how often each element was dequeued
    atomic_int producers_left;
} crowd;

typedef struct member {
    crowd *crowd;
    int number;
} member;

static void produce(void *arg)
{
    const member *m = arg;
    queue_nodes n = m->crowd->n;
    for (int i = 0; i < ELEMENTS; i += 3) {
        char feed[64];
        int at = m->number * ELEMENTS + i;
        snprintf(feed, sizeof feed, "int32[] %d", at);
        RUN(enqueue, feed, "");
        snprintf(feed, sizeof feed, "int32[2] %d %d", at + 1, at + 2);
        RUN(enqueue_many, feed, "");
    }
    if (atomic_fetch_sub(&m->crowd->producers_left, 1) == 1) RUN(close, "", "");
}

// Until the queue is closed, takes one element, several, and several more with a cancellation if they are not
// there at once.
static void consume(void *arg)
{
    const member *m = arg;
    queue_nodes n = m->crowd->n;
    for (int i = 0;; i++) {
        op_execution *e = i % 3 == 0   ? START(dequeue, "")
                          : i % 3 == 1 ? START(dequeue_up_to, "int32[] 4")
                                       : START(dequeue_many, "int32[] 7");
        if (i % 3 == 2) op_execution_cancel(e);
        op_execution_wait(e);
        braid_code code = e->ctx.status.code;
        const braid_tensor *t = &e->ctx.outputs[0].tensor;
        for (int64_t k = 0; code == BRAID_OK && k < bd_tensor_count(t); k++)
            atomic_fetch_add(&m->crowd->sums[bd_tensor_i32(t)[k]], 1);
        op_execution_expect(e, code == BRAID_OK             ? "*"
                               : code == BRAID_OUT_OF_RANGE ? "OutOfRange: "
                                                            : "Cancelled: ");
        if (code == BRAID_OUT_OF_RANGE && i % 3 != 2) return;
    }
}

static void check_crowd(queue_spec spec)
{
    op_live *l = op_live_new();
    crowd *c = bd_calloc(1, sizeof *c);
    c->n = queue_nodes_make(l, spec);
    atomic_init(&c->producers_left, PRODUCERS);
    bd_thread threads[PRODUCERS + CONSUMERS];
    member members[PRODUCERS + CONSUMERS];
    BD_STATUS(st);
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++) {
        members[i] = (member){c, i};
        bd_thread_start(&threads[i], "queue", i < PRODUCERS ? produce : consume, &members[i], st);
        assert_ok(st);
    }
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++)
        bd_thread_join(&threads[i]);
    for (int i = 0; i < PRODUCERS * ELEMENTS; i++)
        assert_int_equal(atomic_load(&c->sums[i]), 1);
    bd_free(c);
    op_live_free(l);
}

static void each_element_is_dequeued_once_by_many_threads(void **state)
{
    (void)state;
    check_crowd((queue_spec){.capacity = 5});
    check_crowd((queue_spec){.op = "FIFOQueue"});
    check_crowd((queue_spec){.op = "RandomShuffleQueueV2", .capacity = 9, .min_after_dequeue = 4});
}

static void ignore_done(bd_op_ctx *c)
{
    (void)c;
}

// In the steady state neither waiting nor being served asks the system for memory.
static void enqueue_and_dequeue_allocate_nothing(void **state)
{
    (void)state;
    bd_queue_options options = {.kind = "FIFOQueue",
                                .name = "q",
                                .capacity = 4,
                                .component_count = 1,
                                .types = (braid_dtype[]){BRAID_INT32},
                                .shapes = (braid_shape[]){BD_SCALAR}};
    bd_queue *q = bd_queue_new(&options);
    bd_step step;
    op_step_init(&step);
    bd_value element = {0}, got = {0};
    op_test_tensor(&element.tensor, "int32[] 1");
    uint64_t before = 0;
    for (int i = 0; i < 20; i++) {
        bd_op_ctx enqueue = {.inputs = &element, .input_count = 1, .step = &step, .done = ignore_done};
        bd_op_ctx dequeue = {.outputs = &got, .output_count = 1, .step = &step, .done = ignore_done};
        if (i == 1) before = bd_alloc_count();
        bd_queue_dequeue(q, &dequeue);
        bd_queue_enqueue(q, &enqueue, 0, false);
        assert_int_equal(bd_tensor_i32(&got.tensor)[0], 1);
    }
    assert_int_equal(bd_alloc_count(), before);
    bd_value_fini(&got);
    bd_value_fini(&element);
    op_step_fini(&step);
    bd_resource_unref(&q->base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_element_is_dequeued_once_by_many_threads),
        cmocka_unit_test(enqueue_and_dequeue_allocate_nothing),
    };
    return BD_RUN_TESTS(tests);
}
