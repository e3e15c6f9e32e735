// SleepDataset: waits before each element, to try out pipelines with a slow input.
//
// It waits on an I/O thread; closing the iterator ends the wait.
#include "base/clock.h"
#include "ops/dataset/dataset.h"

typedef struct sleep_dataset {
    bd_dataset base;
    int64_t micros;
} sleep_dataset;

typedef struct wait_state {
    bd_cancel_hook hook;
    bd_event cancelled;
} wait_state;

static void cancelled(bd_cancel_hook *hook, const braid_status *why)
{
    (void)why;
    bd_event_set(&BD_CONTAINER_OF(hook, wait_state, hook)->cancelled);
}

static bd_turn wait_and_pull(bd_iterator *it)
{
    const int64_t micros = BD_CONTAINER_OF(it->dataset, sleep_dataset, base)->micros, now = bd_now_ns();
    const int64_t until = micros < (BD_FOREVER - now) / 1000 ? now + micros * 1000 : BD_FOREVER;
    wait_state w = {.hook.fn = cancelled};
    bd_event_init(&w.cancelled);
    if (bd_cancellation_add(it->chain->token, &w.hook)) {
        bd_event_wait_until(&w.cancelled, until);
        bd_cancellation_remove(it->chain->token, &w.hook);
    }
    bd_event_fini(&w.cancelled);
    return bd_pull(it, it->input);
}

static bd_turn sleep_next(bd_iterator *it)
{
    return bd_turn_on_disk(it, wait_and_pull);
}

static const bd_dataset_kind sleep_kind = {
    .name = "Sleep",
    .dataset_size = sizeof(sleep_dataset),
    .iterator_size = sizeof(bd_iterator),
    .opens_input = true,
    .cardinality = bd_cardinality_of_input,
    .next = sleep_next,
    .received = bd_pass,
};

static void sleep_run(bd_op_ctx *c)
{
    int64_t micros;
    if (!bd_input_scalar_int(c, 1, "sleep_microseconds", &micros)) return;
    if (micros < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`sleep_microseconds` must be >= 0");
        return;
    }
    bd_dataset *d = bd_dataset_over_input(c, &sleep_kind);
    if (!d) return;
    BD_CONTAINER_OF(d, sleep_dataset, base)->micros = micros;
    bd_output_dataset(c, d);
}

#define SLEEP_OP                                                                                             \
    {                                                                                                        \
        .signature = "(input_dataset: variant, sleep_microseconds: int64) -> (handle: variant)",             \
        .attrs = BD_DATASET_ATTRS, .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalars,          \
        .kernels = BD_KERNELS({.run = sleep_run}),                                                           \
        .doc = "The same elements, before each of which so many microseconds go by."                         \
    }

BD_OP(SleepDataset) = SLEEP_OP;
BD_OP(ExperimentalSleepDataset) = SLEEP_OP;
