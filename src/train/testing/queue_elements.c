// What queue runners give, for tests of queues.
#include "base/testing/test.h"

#include "train/testing/queue_elements.h"
#include <braid/braid.h>

int queue_elements(braid_graph *g, braid_out out, int32_t *values, int max)
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
        for (int64_t i = 0; i < braid_tensor_num_elements(t); i++) {
            assert_true(count < max);
            values[count++] = ((const int32_t *)braid_tensor_data(t))[i];
        }
    }
    assert_int_equal(st->code, BRAID_OUT_OF_RANGE);
    braid_status_clear(st);
    braid_coordinator_request_stop(c, NULL);
    assert_int_equal(braid_coordinator_join(c, 0, st), BRAID_OK); // all threads have ended
    braid_coordinator_free(c);
    braid_session_close(s, st);
    return count;
}
