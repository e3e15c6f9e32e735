// The smallest model that can be trained.
#include "train/testing/small_model.h"

#include "base/testing/test.h"

small_model small_model_make(void)
{
    small_model m = {.graph = braid_graph_new()};
    braid_graph *g = m.graph;
    m.rate = braid_placeholder(g, "rate", BRAID_FLOAT, BRAID_SCALAR);
    m.x = braid_variable_new(g, "x", braid_const_float(g, NULL, 0), true);
    m.loss = braid_square(g, braid_sub(g, m.x.read, braid_const_float(g, NULL, 3)));
    braid_out scaled = braid_mul(g, m.rate, m.loss);
    m.train = braid_minimize(braid_gradient_descent(g, 0.5f), scaled, braid_global_step(g));
    return m;
}

braid_monitored_session *small_model_open(const small_model *m, braid_hook *const *hooks)
{
    return braid_monitored_session_open(m->graph, &(braid_session_config){.is_chief = true, .hooks = hooks});
}

braid_code small_model_step(braid_monitored_session *s, const small_model *m)
{
    braid_tensor *rate = braid_tensor_float(0.1f);
    braid_code code = braid_run(s, BRAID_FEED({m->rate, rate}), NULL, m->train);
    braid_tensor_free(rate);
    return code;
}

float small_model_loss(braid_monitored_session *s, const small_model *m)
{
    braid_tensor *value = NULL;
    assert_int_equal(braid_evaluate(s, NULL, BRAID_FETCH({m->loss, &value})), BRAID_OK);
    float loss = *(float *)braid_tensor_data(value);
    braid_tensor_free(value);
    return loss;
}

float small_model_value(braid_session *s, braid_out out)
{
    BD_STATUS(st);
    braid_tensor *t = NULL;
    braid_fetch fetch = {out, &t};
    braid_session_run(s, &(braid_run_args){.fetches = &fetch, .fetch_count = 1}, st);
    assert_ok(st);
    const float value = *(const float *)braid_tensor_data(t);
    braid_tensor_free(t);
    return value;
}

braid_op *small_model_init(const small_model *m, braid_out value)
{
    braid_op *init = braid_global_variables_initializer(m->graph);
    braid_push_control(m->graph, &init, 1);
    braid_op *assign = braid_assign(m->graph, m->x.ref, value).op;
    braid_pop_control(m->graph);
    return assign;
}
