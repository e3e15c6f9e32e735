// A hook of one's own: training ends when the loss no longer falls (early stopping).
//
//     own_hook
#include <braid/braid.h>
#include <stdio.h>
#include <stdlib.h>

// The hook is the first member, so that a pointer to one is a pointer to the other.
typedef struct early_stopping {
    braid_hook hook;
    braid_out loss;
    float best;
    int steps_without_progress, patience;
} early_stopping;

// Adds the loss to what the step fetches.
static braid_code before_run(braid_hook *hook, braid_monitored_session *session, braid_hook_request *request,
                             braid_status *status)
{
    (void)session, (void)status;
    braid_hook_fetch(request, ((early_stopping *)hook)->loss);
    return BRAID_OK;
}

static braid_code after_run(braid_hook *hook, braid_monitored_session *session, braid_tensor *const *values,
                            braid_status *status)
{
    (void)status;
    early_stopping *h = (early_stopping *)hook;
    const float loss = *(const float *)braid_tensor_data(values[0]);
    h->steps_without_progress = loss < h->best ? 0 : h->steps_without_progress + 1;
    if (loss < h->best) h->best = loss;
    if (h->steps_without_progress == h->patience) braid_request_stop(session);
    return BRAID_OK;
}

static braid_code end(braid_hook *hook, braid_monitored_session *session, braid_status *status)
{
    (void)status;
    printf("stopped at step %lld, loss %g\n", (long long)braid_monitored_session_global_step(session),
           (double)((early_stopping *)hook)->best);
    return BRAID_OK;
}

static void release(braid_hook *hook)
{
    free(hook);
}

static braid_hook *early_stopping_new(braid_out loss, int patience)
{
    early_stopping *h = calloc(1, sizeof *h);
    if (!h) abort();
    *h = (early_stopping){
        .hook = {.before_run = before_run, .after_run = after_run, .end = end, .free = release},
        .loss = loss,
        .best = 1e30F,
        .patience = patience};
    return &h->hook;
}

int main(void)
{
    braid_graph *g = braid_graph_new();
    braid_variable x = braid_variable_new(g, "x", braid_const_float(g, NULL, 0), true);
    braid_out loss = braid_square(g, braid_sub(g, x.read, braid_const_float(g, NULL, 3)));
    braid_op *train = braid_minimize(braid_gradient_descent(g, 0.1F), loss, braid_global_step(g));
    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){.hooks =
                                       BRAID_HOOKS(early_stopping_new(loss, 10), braid_stop_at_step(1000))});
    while (!braid_should_stop(s))
        braid_run(s, NULL, NULL, train);
    const braid_code code = braid_monitored_session_close(s);
    braid_graph_free(g);
    return braid_exit_code(code);
}
