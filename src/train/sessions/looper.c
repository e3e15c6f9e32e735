// The loop of a thread that calls a function every so many seconds.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include <braid/coordinator.h>
#include <string.h>

typedef struct loop {
    braid_looper looper; // without the name
    int64_t every_ns;
} loop;

static void free_loop(loop *l)
{
    if (l->looper.free) l->looper.free(l->looper.arg);
    bd_free(l);
}

// Calls keep to a fixed beat: a call that takes longer than the time between two is followed at once by the
// next.
static braid_code run_loop(braid_coordinator *c, void *arg, braid_status *st)
{
    loop *l = arg;
    int64_t next_ns = bd_now_ns();
    while (!st->code && !braid_coordinator_wait_for_stop(c, bd_deadline_left_ms(next_ns))) {
        next_ns += l->every_ns;
        l->looper.fn(c, l->looper.arg, st);
    }
    free_loop(l);
    return st->code;
}

static void check(const braid_looper *looper, braid_status *st)
{
    if (!looper->fn)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "A loop needs a function");
    else if (!(looper->every_seconds >= 0 && looper->every_seconds <= 1e9))
        bd_fail(st, BRAID_INVALID_ARGUMENT, "A loop every %g seconds", looper->every_seconds);
}

braid_code braid_looper_start(braid_coordinator *c, const braid_looper *looper, braid_status *st)
{
    if (!looper) return bd_fail(st, BRAID_INVALID_ARGUMENT, "A loop needs a function");
    loop *l = bd_calloc(1, sizeof *l);
    l->looper = *looper;
    check(looper, st);
    if (!st->code) {
        l->every_ns = (int64_t)(looper->every_seconds * 1e9);
        braid_coordinator_start(c, looper->name ? looper->name : "braid-loop", run_loop, l, st);
    }
    if (st->code) free_loop(l);
    return st->code;
}
