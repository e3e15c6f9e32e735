// The hook that ends training when a loss is not a number.
#include "base/alloc.h"
#include "base/log.h"
#include "train/sessions/monitored_session.h"
#include <braid/hooks.h>
#include <math.h>

typedef struct nan_tensor {
    braid_hook hook;
    braid_out loss;
    bool only_stop;
} nan_tensor;

static braid_code before_run(braid_hook *hook, braid_monitored_session *s, braid_hook_request *request,
                             braid_status *st)
{
    (void)s, (void)st;
    braid_hook_fetch(request, ((nan_tensor *)hook)->loss);
    return BRAID_OK;
}

static bool is_nan(const braid_tensor *t)
{
    const void *data = braid_tensor_data(t);
    for (int64_t i = 0; i < braid_tensor_num_elements(t); i++) {
        if (braid_tensor_dtype(t) == BRAID_FLOAT && isnan(((const float *)data)[i])) return true;
        if (braid_tensor_dtype(t) == BRAID_DOUBLE && isnan(((const double *)data)[i])) return true;
    }
    return false;
}

static braid_code after_run(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                            braid_status *st)
{
    const nan_tensor *h = (const nan_tensor *)hook;
    if (!is_nan(values[0])) return BRAID_OK;
    const char *name = braid_op_name(h->loss.op);
    const long long step = braid_monitored_session_global_step(s);
    if (!h->only_stop)
        return bd_fail(st, BRAID_FAILED_PRECONDITION,
                       "The loss '%s' is not a number (NaN) at global step %lld", name, step);
    bd_warn("Training stops: the loss '%s' is not a number (NaN) at global step %lld", name, step);
    braid_request_stop(s);
    return BRAID_OK;
}

static void release(braid_hook *hook)
{
    bd_free(hook);
}

braid_hook *braid_nan_tensor(braid_out loss, bool only_stop)
{
    nan_tensor *h = bd_calloc(1, sizeof *h);
    h->hook = (braid_hook){.before_run = before_run, .after_run = after_run, .free = release};
    h->loss = loss;
    h->only_stop = only_stop;
    return &h->hook;
}
