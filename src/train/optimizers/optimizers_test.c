// Each optimizer: the values of its steps against the same computed by hand, and the nodes that it builds.
#include "base/testing/test.h"

#include "base/alloc.h"
#include "train/testing/graph_text.h"
#include "train/testing/problem.h"
#include <braid/learning_rate_decay.h>
#include <braid/optimizers.h>
#include <braid/variable_scope.h>
#include <math.h>

// ---- Steps by hand: one variable `x` and what is kept for it ----

typedef struct by_hand {
    double x, target;
    double a, b, c; // slots
    int t;          // the step, from 1
} by_hand;

static const double rate = 0.1;

static void descent_step(by_hand *h, double gradient)
{
    h->x -= rate * gradient;
}

// Algorithm 1 of the paper, but with epsilon where TensorFlow has it.
static void adam_step(by_hand *h, double gradient)
{
    const double beta1 = 0.8, beta2 = 0.95, epsilon = 1e-8;
    h->a = beta1 * h->a + (1 - beta1) * gradient;
    h->b = beta2 * h->b + (1 - beta2) * gradient * gradient;
    double rate_t = rate * sqrt(1 - pow(beta2, h->t)) / (1 - pow(beta1, h->t));
    h->x -= rate_t * h->a / (sqrt(h->b) + epsilon);
}

static void momentum_step(by_hand *h, double gradient)
{
    h->a = 0.7 * h->a + gradient;
    h->x -= rate * h->a;
}

static void nesterov_step(by_hand *h, double gradient)
{
    h->a = 0.7 * h->a + gradient;
    h->x -= rate * (gradient + 0.7 * h->a);
}

static void adagrad_step(by_hand *h, double gradient)
{
    if (h->t == 1) h->a = 0.25;
    h->a += gradient * gradient;
    h->x -= rate * gradient / sqrt(h->a);
}

static void rmsprop_step(by_hand *h, double gradient)
{
    if (h->t == 1) h->a = 1;
    h->a = 0.8 * h->a + 0.2 * gradient * gradient;
    h->b = 0.6 * h->b + rate * gradient / sqrt(h->a + 0.01);
    h->x -= h->b;
}

static void centered_rmsprop_step(by_hand *h, double gradient)
{
    if (h->t == 1) h->a = 1;
    h->a = 0.8 * h->a + 0.2 * gradient * gradient;
    h->c = 0.8 * h->c + 0.2 * gradient;
    h->b = 0.6 * h->b + rate * gradient / sqrt(h->a - h->c * h->c + 0.01);
    h->x -= h->b;
}

// The paper's update: w = argmin of z w + (sum of sigma) / 2 w^2 + l1 |w| + l2 w^2.
static void ftrl(by_hand *h, double gradient, double power, double l1, double l2)
{
    if (h->t == 1) h->a = 0.3;
    double before = pow(h->a, -power), after = pow(h->a + gradient * gradient, -power);
    h->a += gradient * gradient;
    h->b += gradient - (after - before) / rate * h->x;
    h->x = fabs(h->b) <= l1 ? 0 : (copysign(l1, h->b) - h->b) / (after / rate + 2 * l2);
}

static void ftrl_step(by_hand *h, double gradient)
{
    ftrl(h, gradient, -0.5, 0, 0);
}

static void regularized_ftrl_step(by_hand *h, double gradient)
{
    ftrl(h, gradient, -0.6, 2.5, 0.5);
}

static void adadelta_step(by_hand *h, double gradient)
{
    h->a = 0.9 * h->a + 0.1 * gradient * gradient;
    double update = gradient * sqrt(h->b + 0.01) / sqrt(h->a + 0.01);
    h->b = 0.9 * h->b + 0.1 * update * update;
    h->x -= 0.5 * update;
}

static void adamax_step(by_hand *h, double gradient)
{
    const double beta1 = 0.8, beta2 = 0.95, epsilon = 1e-8;
    h->a = beta1 * h->a + (1 - beta1) * gradient;
    h->b = fmax(beta2 * h->b, fabs(gradient));
    h->x -= rate / (1 - pow(beta1, h->t)) * h->a / (h->b + epsilon);
}

// argmin of (w - x)^2 / (2 step) + l1 |w| + l2 / 2 w^2
static double proximal(double x, double step, double l1, double l2)
{
    return copysign(fmax(fabs(x) - step * l1, 0), x) / (1 + step * l2);
}

static void proximal_descent_step(by_hand *h, double gradient)
{
    h->x = proximal(h->x - rate * gradient, rate, 0.2, 0.3);
}

static void proximal_adagrad_step(by_hand *h, double gradient)
{
    if (h->t == 1) h->a = 0.25;
    h->a += gradient * gradient;
    double step = rate / sqrt(h->a);
    h->x = proximal(h->x - step * gradient, step, 0.2, 0.3);
}

static void adagrad_da_step(by_hand *h, double gradient)
{
    if (h->t == 1) h->b = 0.25;
    h->a += gradient;
    h->b += gradient * gradient;
    double above = copysign(fmax(fabs(h->a) - 0.2 * h->t, 0), h->a);
    h->x = -rate * above / (0.3 * h->t * rate + sqrt(h->b));
}

// Half of the rate from step 11 on.
static void decayed_step(by_hand *h, double gradient)
{
    h->x -= (h->t > 10 ? rate / 2 : rate) * gradient;
}

// ---- The optimizers ----

static braid_optimizer *descent(braid_graph *g)
{
    return braid_gradient_descent(g, 0.1f);
}

static braid_optimizer *adam(braid_graph *g)
{
    braid_adam_options options = braid_adam_defaults();
    options.learning_rate = 0.1f;
    options.beta1 = 0.8f;
    options.beta2 = 0.95f;
    return braid_adam_with(g, &options);
}

static braid_optimizer *momentum(braid_graph *g)
{
    return braid_momentum(g, 0.1f, 0.7f);
}

static braid_optimizer *nesterov(braid_graph *g)
{
    return braid_momentum_with(
        g, &(braid_momentum_options){.learning_rate = 0.1f, .momentum = 0.7f, .use_nesterov = true});
}

static braid_optimizer *adagrad(braid_graph *g)
{
    return braid_adagrad_with(g,
                              &(braid_adagrad_options){.learning_rate = 0.1f, .initial_accumulator = 0.25f});
}

static braid_optimizer *rmsprop(braid_graph *g)
{
    return braid_rmsprop_with(
        g,
        &(braid_rmsprop_options){.learning_rate = 0.1f, .decay = 0.8f, .momentum = 0.6f, .epsilon = 0.01f});
}

static braid_optimizer *centered_rmsprop(braid_graph *g)
{
    return braid_rmsprop_with(g, &(braid_rmsprop_options){.learning_rate = 0.1f,
                                                          .decay = 0.8f,
                                                          .momentum = 0.6f,
                                                          .epsilon = 0.01f,
                                                          .centered = true,
                                                          .use_locking = true});
}

static braid_optimizer *plain_ftrl(braid_graph *g)
{
    braid_ftrl_options options = braid_ftrl_defaults();
    options.learning_rate = 0.1f;
    options.initial_accumulator = 0.3f;
    return braid_ftrl_with(g, &options);
}

static braid_optimizer *regularized_ftrl(braid_graph *g)
{
    return braid_ftrl_with(g, &(braid_ftrl_options){.learning_rate = 0.1f,
                                                    .learning_rate_power = -0.6f,
                                                    .initial_accumulator = 0.3f,
                                                    .l1 = 2.5f,
                                                    .l2 = 0.5f});
}

static braid_optimizer *adadelta(braid_graph *g)
{
    return braid_adadelta_with(
        g, &(braid_adadelta_options){.learning_rate = 0.5f, .rho = 0.9f, .epsilon = 0.01f});
}

static braid_optimizer *adamax(braid_graph *g)
{
    braid_adam_options options = braid_adam_defaults();
    options.learning_rate = 0.1f;
    options.beta1 = 0.8f;
    options.beta2 = 0.95f;
    return braid_adamax_with(g, &options);
}

static const braid_proximal_options regularized = {
    .learning_rate = 0.1f, .initial_accumulator = 0.25f, .l1 = 0.2f, .l2 = 0.3f};

static braid_optimizer *proximal_descent(braid_graph *g)
{
    return braid_proximal_gradient_descent(g, &regularized);
}

static braid_optimizer *proximal_adagrad(braid_graph *g)
{
    return braid_proximal_adagrad(g, &regularized);
}

static braid_optimizer *adagrad_da(braid_graph *g)
{
    return braid_adagrad_da(g, braid_find_global_step(g), &regularized);
}

static braid_optimizer *decayed(braid_graph *g)
{
    braid_optimizer *opt = braid_gradient_descent(g, 0);
    braid_optimizer_set_learning_rate(
        opt, braid_exponential_decay(g, 0.1f, braid_find_global_step(g), 10, 0.5f, true));
    return opt;
}

static const struct {
    const char *name;
    braid_optimizer *(*make)(braid_graph *g);
    void (*step)(by_hand *h, double gradient);
} optimizers[] = {
    {"gradient descent", descent, descent_step},
    {"adam", adam, adam_step},
    {"momentum", momentum, momentum_step},
    {"nesterov", nesterov, nesterov_step},
    {"adagrad", adagrad, adagrad_step},
    {"rmsprop", rmsprop, rmsprop_step},
    {"centered rmsprop", centered_rmsprop, centered_rmsprop_step},
    {"ftrl", plain_ftrl, ftrl_step},
    {"regularized ftrl", regularized_ftrl, regularized_ftrl_step},
    {"adadelta", adadelta, adadelta_step},
    {"adamax", adamax, adamax_step},
    {"proximal gradient descent", proximal_descent, proximal_descent_step},
    {"proximal adagrad", proximal_adagrad, proximal_adagrad_step},
    {"adagrad dual averaging", adagrad_da, adagrad_da_step},
    {"gradient descent with a decayed rate", decayed, decayed_step},
};

static void expect_near(const char *name, int t, double got, double want)
{
    if (!(fabs(got - want) <= 2e-5 * (1 + fabs(want))))
        fail_msg("%s, step %d: %.7f and not %.7f", name, t, got, want);
}

static void check_steps(problem p, size_t which)
{
    const char *name = optimizers[which].name;
    braid_op *train = braid_minimize(optimizers[which].make(p.graph), p.loss, p.step);
    braid_session *s = problem_start(&p);
    by_hand w = {.x = 0.5, .target = 3}, b = {.x = -2, .target = 1};
    for (int t = 1; t <= 20; t++) {
        double scale = t % 3 - 0.5; // also against the gradient
        float got_w, got_b;
        problem_step(s, &p, train, (float)scale, &got_w, &got_b);
        w.t = b.t = t;
        optimizers[which].step(&w, scale * (w.x - w.target));
        optimizers[which].step(&b, scale * (b.x - b.target));
        expect_near(name, t, got_w, w.x);
        expect_near(name, t, got_b, b.x);
    }
    assert_int_equal(problem_global_step(s, &p), 20);
    problem_finish(s, &p);
}

static void each_optimizer_takes_the_steps_of_its_definition(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(optimizers); i++) {
        check_steps(problem_make(), i);
        check_steps(problem_make_resource(), i);
    }
}

// ---- Nodes ----

// The nodes of `w`'s slots, and the optimizer's nodes for w and the scalars.
static const struct {
    braid_optimizer *(*make)(braid_graph *g);
    const char *slots_prefix, *slots, *scope, *nodes;
} built[] = {
    {momentum, "w/Momentum",
     "w/Momentum/Initializer/zeros = Const =w\n"
     "w/Momentum = VariableV2 =w\n"
     "w/Momentum/Assign = Assign w/Momentum:0 w/Momentum/Initializer/zeros:0 =w\n"
     "w/Momentum/read = Identity w/Momentum:0 =w\n",
     "Momentum",
     "Momentum/learning_rate = Const\n"
     "Momentum/momentum = Const\n"
     "Momentum/update_w/ApplyMomentum = ApplyMomentum w:0 w/Momentum:0 Momentum/learning_rate:0 "
     "gradients/sub_grad/tuple/control_dependency:0 Momentum/momentum:0 =w\n"},
    {adagrad, "w/Adagrad",
     "w/Adagrad/Initializer/Const = Const =w\n"
     "w/Adagrad = VariableV2 =w\n"
     "w/Adagrad/Assign = Assign w/Adagrad:0 w/Adagrad/Initializer/Const:0 =w\n"
     "w/Adagrad/read = Identity w/Adagrad:0 =w\n",
     "Adagrad",
     "Adagrad/learning_rate = Const\n"
     "Adagrad/update_w/ApplyAdagrad = ApplyAdagrad w:0 w/Adagrad:0 Adagrad/learning_rate:0 "
     "gradients/sub_grad/tuple/control_dependency:0 =w\n"},
    {centered_rmsprop, "w/RMSProp",
     "w/RMSProp/Initializer/ones = Const =w\n"
     "w/RMSProp = VariableV2 =w\n"
     "w/RMSProp/Assign = Assign w/RMSProp:0 w/RMSProp/Initializer/ones:0 =w\n"
     "w/RMSProp/read = Identity w/RMSProp:0 =w\n"
     "w/RMSProp_1/Initializer/zeros = Const =w\n"
     "w/RMSProp_1 = VariableV2 =w\n"
     "w/RMSProp_1/Assign = Assign w/RMSProp_1:0 w/RMSProp_1/Initializer/zeros:0 =w\n"
     "w/RMSProp_1/read = Identity w/RMSProp_1:0 =w\n"
     "w/RMSProp_2/Initializer/zeros = Const =w\n"
     "w/RMSProp_2 = VariableV2 =w\n"
     "w/RMSProp_2/Assign = Assign w/RMSProp_2:0 w/RMSProp_2/Initializer/zeros:0 =w\n"
     "w/RMSProp_2/read = Identity w/RMSProp_2:0 =w\n",
     "RMSProp",
     "RMSProp/learning_rate = Const\n"
     "RMSProp/decay = Const\n"
     "RMSProp/momentum = Const\n"
     "RMSProp/epsilon = Const\n"
     "RMSProp/update_w/ApplyCenteredRMSProp = ApplyCenteredRMSProp w:0 w/RMSProp_1:0 w/RMSProp:0 w/RMSProp_2:0 "
     "RMSProp/learning_rate:0 RMSProp/decay:0 RMSProp/momentum:0 RMSProp/epsilon:0 "
     "gradients/sub_grad/tuple/control_dependency:0 =w\n"},
    {rmsprop, "w/RMSProp_1",
     "w/RMSProp_1/Initializer/zeros = Const =w\n"
     "w/RMSProp_1 = VariableV2 =w\n"
     "w/RMSProp_1/Assign = Assign w/RMSProp_1:0 w/RMSProp_1/Initializer/zeros:0 =w\n"
     "w/RMSProp_1/read = Identity w/RMSProp_1:0 =w\n",
     "RMSProp",
     "RMSProp/learning_rate = Const\n"
     "RMSProp/decay = Const\n"
     "RMSProp/momentum = Const\n"
     "RMSProp/epsilon = Const\n"
     "RMSProp/update_w/ApplyRMSProp = ApplyRMSProp w:0 w/RMSProp:0 w/RMSProp_1:0 RMSProp/learning_rate:0 "
     "RMSProp/decay:0 RMSProp/momentum:0 RMSProp/epsilon:0 gradients/sub_grad/tuple/control_dependency:0 =w\n"},
    // The first values of "accum" are constants outside of the variable's scope.
    {plain_ftrl, "w/Ftrl",
     "w/Ftrl = VariableV2 =w\n"
     "w/Ftrl/Assign = Assign w/Ftrl:0 Const_6:0 =w\n"
     "w/Ftrl/read = Identity w/Ftrl:0 =w\n"
     "w/Ftrl_1/Initializer/zeros = Const =w\n"
     "w/Ftrl_1 = VariableV2 =w\n"
     "w/Ftrl_1/Assign = Assign w/Ftrl_1:0 w/Ftrl_1/Initializer/zeros:0 =w\n"
     "w/Ftrl_1/read = Identity w/Ftrl_1:0 =w\n",
     "Ftrl",
     "Ftrl/learning_rate = Const\n"
     "Ftrl/l1_regularization_strength = Const\n"
     "Ftrl/l2_regularization_strength = Const\n"
     "Ftrl/learning_rate_power = Const\n"
     "Ftrl/update_w/ApplyFtrl = ApplyFtrl w:0 w/Ftrl:0 w/Ftrl_1:0 gradients/sub_grad/tuple/control_dependency:0 "
     "Ftrl/learning_rate:0 Ftrl/l1_regularization_strength:0 Ftrl/l2_regularization_strength:0 "
     "Ftrl/learning_rate_power:0 =w\n"},
};

static void each_optimizer_builds_the_nodes_of_tensorflow(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(built); i++) {
        problem p = problem_make();
        braid_minimize(built[i].make(p.graph), p.loss, p.step);
        expect_nodes(p.graph, built[i].slots_prefix, built[i].slots);
        char *text = graph_text_of(p.graph, built[i].scope);
        if (strncmp(text, built[i].nodes, strlen(built[i].nodes)) != 0) fail_msg("%s", text);
        bd_free(text);
        braid_graph_free(p.graph);
    }
}

static void resource_variables_are_updated_through_their_handles(void **state)
{
    (void)state;
    problem p = problem_make_resource();
    braid_optimizer *opt = momentum(p.graph);
    braid_minimize(opt, p.loss, p.step);
    expect_nodes(p.graph, "w/Momentum",
                 "w/Momentum/Initializer/zeros = Const =w\n"
                 "w/Momentum = VarHandleOp =w\n"
                 "w/Momentum/IsInitialized/VarIsInitializedOp = VarIsInitializedOp w/Momentum:0 =w\n"
                 "w/Momentum/Assign = AssignVariableOp w/Momentum:0 w/Momentum/Initializer/zeros:0 =w\n"
                 "w/Momentum/Read/ReadVariableOp = ReadVariableOp w/Momentum:0 =w\n");
    expect_nodes(p.graph, "Momentum/update_w/",
                 "Momentum/update_w/ResourceApplyMomentum = ResourceApplyMomentum w:0 w/Momentum:0 "
                 "Momentum/learning_rate:0 gradients/sub_grad/tuple/control_dependency:0 "
                 "Momentum/momentum:0 =w\n");
    braid_graph_free(p.graph);
}

// The step and the powers of the betas are resource variables where the model's variables are.
static void what_belongs_to_a_resource_variable_is_one(void **state)
{
    (void)state;
    problem p = problem_make_resource();
    const braid_variable counter = braid_variable_get_with(
        p.graph, "counter",
        &(braid_variable_options){.dtype = BRAID_INT64, .untrained = true, .kind = BRAID_KIND_RESOURCE});
    braid_op *train = braid_minimize(adam(p.graph), p.loss, counter.ref);
    expect_nodes(p.graph, "beta1_power",
                 "beta1_power/initial_value = Const =b\n"
                 "beta1_power = VarHandleOp =b\n"
                 "beta1_power/IsInitialized/VarIsInitializedOp = VarIsInitializedOp beta1_power:0 =b\n"
                 "beta1_power/Assign = AssignVariableOp beta1_power:0 beta1_power/initial_value:0 =b\n"
                 "beta1_power/Read/ReadVariableOp = ReadVariableOp beta1_power:0 =b\n");
    assert_string_equal(braid_op_type(train), "AssignAddVariableOp");
    p.step = counter.read;
    braid_session *s = problem_start(&p);
    float w, b;
    for (int i = 0; i < 3; i++)
        problem_step(s, &p, train, 1, &w, &b);
    assert_int_equal(problem_global_step(s, &p), 3);
    const braid_out power = braid_graph_find_out(p.graph, "beta1_power/Read/ReadVariableOp");
    assert_float_equal(problem_value(s, power), 0.8 * 0.8 * 0.8 * 0.8, 1e-6);
    problem_finish(s, &p);
}

static void options_out_of_range_are_refused(void **state)
{
    (void)state;
    BD_STATUS(st);
    const braid_adagrad_options no_accumulator = {.learning_rate = 0.1f};
    braid_ftrl_options growing = braid_ftrl_defaults(), negative = braid_ftrl_defaults();
    growing.learning_rate_power = 0.5f;
    negative.l2 = -1;
    for (int i = 0; i < 3; i++) {
        braid_graph *g = braid_graph_new();
        if (i == 0) braid_adagrad_with(g, &no_accumulator);
        if (i > 0) braid_ftrl_with(g, i == 1 ? &growing : &negative);
        braid_graph_status(g, st);
        static const char *const says[] = {"accumulator must be positive, not 0", "power", "l1 and l2"};
        assert_error(st, BRAID_INVALID_ARGUMENT, says[i]);
        braid_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_optimizer_takes_the_steps_of_its_definition),
        cmocka_unit_test(each_optimizer_builds_the_nodes_of_tensorflow),
        cmocka_unit_test(resource_variables_are_updated_through_their_handles),
        cmocka_unit_test(what_belongs_to_a_resource_variable_is_one),
        cmocka_unit_test(options_out_of_range_are_refused),
    };
    return BD_RUN_TESTS(tests);
}
