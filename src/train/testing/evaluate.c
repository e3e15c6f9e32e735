// Values of a graph, in a session of this process, as doubles.
#include "base/testing/test.h"

#include "train/testing/evaluate.h"

#include "base/alloc.h"
#include "train/common/build.h"
#include <braid/variables.h>
#include <math.h>

braid_out evaluate_const(braid_graph *g, braid_dtype dtype, braid_shape shape, const double *values)
{
    BD_STATUS(st);
    braid_tensor *t = braid_tensor_new(dtype, shape, st);
    assert_ok(st);
    for (int64_t i = 0; i < braid_tensor_num_elements(t); i++)
        assert_true(train_set_number(braid_tensor_data(t), dtype, i, values[i]));
    const braid_out out = braid_const(g, NULL, t);
    braid_tensor_free(t);
    return out;
}

braid_session *evaluate_open(braid_graph *g)
{
    BD_STATUS(st);
    braid_op *const init[] = {braid_global_variables_initializer(g), braid_local_variables_initializer(g)};
    braid_graph_status(g, st);
    assert_ok(st);
    braid_session *s = braid_session_open(g, NULL, st);
    assert_ok(st);
    braid_session_run(s, &(braid_run_args){.targets = init, .target_count = 2}, st);
    assert_ok(st);
    return s;
}

void evaluate_close(braid_session *s, braid_graph *g)
{
    BD_STATUS(st);
    braid_session_close(s, st);
    assert_ok(st);
    braid_graph_free(g);
}

void evaluate_run(braid_session *s, braid_op *target)
{
    BD_STATUS(st);
    braid_session_run(s, &(braid_run_args){.targets = &target, .target_count = 1}, st);
    assert_ok(st);
}

braid_tensor *evaluate_tensor(braid_session *s, braid_out fetch)
{
    BD_STATUS(st);
    braid_tensor *got = NULL;
    braid_session_run(s, &(braid_run_args){.fetches = &(braid_fetch){fetch, &got}, .fetch_count = 1}, st);
    assert_ok(st);
    return got;
}

static double element_of(const braid_tensor *t, int64_t i)
{
    const void *data = braid_tensor_data((braid_tensor *)t);
    switch (braid_tensor_dtype(t)) {
    case BRAID_FLOAT: return (double)((const float *)data)[i];
    case BRAID_DOUBLE: return ((const double *)data)[i];
    case BRAID_INT32: return ((const int32_t *)data)[i];
    case BRAID_INT64: return (double)((const int64_t *)data)[i];
    case BRAID_BOOL: return ((const bool *)data)[i];
    default: fail_msg("a value of type %s", braid_dtype_name(braid_tensor_dtype(t))); return 0;
    }
}

void evaluate(braid_session *s, braid_out fetch, double *values, int64_t count)
{
    braid_tensor *got = evaluate_tensor(s, fetch);
    assert_int_equal(braid_tensor_num_elements(got), count);
    for (int64_t i = 0; i < count; i++)
        values[i] = element_of(got, i);
    braid_tensor_free(got);
}

void expect_evaluates(braid_session *s, braid_out fetch, const double *want, int64_t count)
{
    double *got = bd_calloc((size_t)count + 1, sizeof *got);
    evaluate(s, fetch, got, count);
    for (int64_t i = 0; i < count; i++)
        if (!isnan(want[i]) || !isnan(got[i])) assert_float_equal(got[i], want[i], 1e-6);
    bd_free(got);
}
