// Optimizers, decays, clipping, moving averages and variables in C++, each in a session.
#include "check.hpp"

namespace
{

// The loss (w - 3)^2 after `steps` steps of an optimizer, from w = 0.
template <typename Make> float loss_after(int steps, Make &&make)
{
    braid::graph g;
    const auto w = g.make_variable("w", 0.0F);
    const auto loss = braid::square(w - 3.0F);
    const braid::operation train = make(g).minimize(loss);
    braid::session s(g);
    s.run(g.global_variables_initializer());
    for (int i = 0; i < steps; i++)
        s.run(train);
    return s.run(loss).scalar<float>();
}

void all_optimizers_make_losses_smaller()
{
    braid_adam_options adam = braid_adam_defaults();
    adam.learning_rate = 0.5F;
    braid_momentum_options nesterov{0.1F, 0.5F, true, false};
    braid_adagrad_options adagrad = braid_adagrad_defaults();
    adagrad.learning_rate = 2;
    braid_rmsprop_options centered = braid_rmsprop_defaults();
    centered.learning_rate = 0.2F;
    centered.centered = true;
    braid_ftrl_options ftrl = braid_ftrl_defaults();
    ftrl.learning_rate = 2;
    braid_adadelta_options adadelta = braid_adadelta_defaults();
    adadelta.learning_rate = 500;
    const braid_proximal_options proximal{0.5F, 0.1F, 0, 0, false};
    const auto expect_small = [](const char *name, float loss, int line = __builtin_LINE()) {
        expect(loss < 4.5F && std::isfinite(loss), name, line); // it begins at 9
    };
    using braid::graph;
    expect_near(loss_after(1, [](graph &g) { return braid::gradient_descent(g, 0.5F); }), 0, 1e-6, "descent");
    expect_near(loss_after(1, [](graph &g) { return braid::momentum(g, 0.25F, 0.9F); }), 2.25, 1e-5,
                "momentum");
    expect_small("nesterov", loss_after(20, [&](graph &g) { return braid::momentum(g, nesterov); }));
    expect_small("adam", loss_after(20, [&](graph &g) { return braid::adam(g, adam); }));
    expect_small("adam's rate", loss_after(20, [](graph &g) { return braid::adam(g, 0.5F); }));
    expect_small("adamax", loss_after(20, [&](graph &g) { return braid::adamax(g, adam); }));
    expect_small("adamax's rate", loss_after(20, [](graph &g) { return braid::adamax(g, 0.5F); }));
    expect_small("adagrad", loss_after(20, [&](graph &g) { return braid::adagrad(g, adagrad); }));
    expect_small("adagrad's rate", loss_after(20, [](graph &g) { return braid::adagrad(g, 2); }));
    expect_small("adadelta", loss_after(20, [&](graph &g) { return braid::adadelta(g, adadelta); }));
    expect_small("adadelta's rate", loss_after(20, [](graph &g) { return braid::adadelta(g, 500); }));
    expect_small("rmsprop", loss_after(20, [&](graph &g) { return braid::rmsprop(g, centered); }));
    expect_small("rmsprop's rate", loss_after(20, [](graph &g) { return braid::rmsprop(g, 0.2F); }));
    expect_small("ftrl", loss_after(20, [&](graph &g) { return braid::ftrl(g, ftrl); }));
    expect_small("ftrl's rate", loss_after(20, [](graph &g) { return braid::ftrl(g, 2); }));
    expect_small("proximal",
                 loss_after(20, [&](graph &g) { return braid::proximal_gradient_descent(g, proximal); }));
    expect_small("proximal adagrad",
                 loss_after(20, [&](graph &g) { return braid::proximal_adagrad(g, proximal); }));
    expect_small("dual averaging", loss_after(20, [&](graph &g) { return braid::adagrad_da(g, proximal); }));
}

void gradients_are_values()
{
    braid::graph g;
    const auto v = g.make_variable("v", {3.0F, 4.0F}), unused = g.make_variable("unused", 1.0F);
    const auto loss = braid::reduce_sum(braid::square(v)) / 2;
    auto opt = braid::momentum(g, 1, 0.9F);
    auto gradients = opt.compute_gradients(loss);
    expect(gradients.size() == 2 && gradients[0].grad && !gradients[1].grad, "all trainable variables");
    expect(opt.compute_gradients(loss, {v.ref}).size() == 1, "chosen variables");
    const auto norm = braid::clip_gradients(gradients, 1);
    gradients[0].grad = 2 * gradients[0].grad;
    const auto train = opt.apply_gradients(gradients);
    braid::session s(g);
    s.run(g.global_variables_initializer());
    expect_near(s.run(norm).scalar<float>(), 5, 1e-5, "the norm before");
    s.run(train);
    expect_elements<float>(s.run(v), {3 - 1.2F, 4 - 1.6F}, "twice the clipped gradients");
    expect_elements<float>(s.run(opt.slot(v, "momentum")), {1.2F, 1.6F}, "the slot");
    expect(!opt.slot(unused, "momentum"), "no slot");
    expect(s.run(braid::output(g.global_step())).scalar<int64_t>() == 1, "the global step");

    const auto x = g.constant({6.0F, 8.0F});
    braid::outputs both = {x, x};
    const auto whole = braid::clip_by_global_norm(both, 1);
    const auto values = s.run({}, {braid::clip_by_norm(x, 5), braid::clip_by_average_norm(x, 1), whole,
                                   both[1], braid::global_norm({x, x})});
    expect_elements<float>(values[0], {3, 4}, "clipped by the norm");
    expect_elements<float>(values[1], {1.2F, 1.6F}, "by the norm and the number of elements");
    expect_near(values[2].scalar<float>(), std::sqrt(200.0), 1e-4, "the norm of all");
    expect_near(values[3].elements<float>()[0], 6 / std::sqrt(200.0), 1e-5, "clipped by it");
    expect_near(values[4].scalar<float>(), std::sqrt(200.0), 1e-4, "the global norm");
}

void learning_rates_decay()
{
    braid::graph g;
    const auto step = g.constant(static_cast<int64_t>(5));
    const auto pi = std::acos(-1.0);
    const std::vector<std::pair<braid::output, double>> wanted = {
        {braid::exponential_decay(1, step, 10, 0.25F), 0.5},
        {braid::exponential_decay(1, step, 10, 0.25F, true), 1},
        {braid::natural_exp_decay(1, step, 10, 2), std::exp(-1.0)},
        {braid::inverse_time_decay(1, step, 10, 2), 0.5},
        {braid::polynomial_decay(1, step, 10, 0, 2), 0.25},
        {braid::cosine_decay(1, step, 10), 0.5},
        {braid::cosine_decay_restarts(1, step, 4, 2, 0.5F), 0.25 * (1 + std::cos(pi / 8))},
        {braid::linear_cosine_decay(1, step, 10, 0.5F, 0, 0), 0.25},
        {braid::piecewise_constant(step, {4, 8}, {1, 0.5F, 0.25F}), 0.5},
    };
    braid_noisy_linear_cosine_options quiet{};
    quiet.initial_variance = 1e-12F;
    const auto noisy = braid::noisy_linear_cosine_decay(1, step, 10, quiet);
    braid::session s(g);
    for (const auto &pair : wanted)
        expect_near(s.run(pair.first).scalar<float>(), pair.second, 1e-5, pair.first.op().name().c_str());
    expect_near(s.run(noisy).scalar<float>(), 0.251, 1e-4, "with little noise");
    message_of(BRAID_INVALID_ARGUMENT, [&] { braid::piecewise_constant(step, {4, 8}, {1, 0.5F}); });
    const float loss = loss_after(1, [](braid::graph &h) {
        return braid::gradient_descent(h, 0).learning_rate(
            braid::exponential_decay(0.5F, h.global_step(), 1, 0.5F));
    });
    expect_near(loss, 0, 1e-6, "an optimizer with a decay");
}

void averages_follow_variables()
{
    braid::graph g;
    const auto w = g.make_variable("w", 1.0F);
    const auto grow = braid::assign_add(w.ref, g.constant(1.0F));
    braid::moving_average averages(g, 0.5F);
    braid::operation step;
    {
        const braid::control_scope after(g, {grow.op()});
        step = averages.apply({w.ref});
    }
    expect(averages.name(w.ref) == "w/ExponentialMovingAverage", "the name");
    braid::session s(g);
    s.run(g.global_variables_initializer());
    s.run(step);
    s.run(step);
    expect_near(s.run(averages.average(w.ref)).scalar<float>(), 2.25, 1e-6, "the average of 1, 2 and 3");
    expect(!averages.average(grow).ref, "no average");
}

void scopes_share_and_divide_variables()
{
    braid::graph g;
    g.set_seed(1);
    std::string name;
    {
        const braid::variable_scope scope(g, "tower");
        name = scope.name();
        g.get_variable<float>("w", {4, 4}, braid::initializers::orthogonal());
    }
    braid_variable_scope_options again{};
    again.reuse = BRAID_REUSE;
    const braid::variable w = [&] {
        const braid::variable_scope scope(g, name.c_str(), again);
        return g.get_variable<float>("w", {4, 4}, braid::initializers::zeros());
    }();
    expect(w.ref.op().name() == "tower/w", "the variable that exists");
    braid_variable_options divided{};
    divided.shape = braid::shape{5, 2};
    divided.initializer = braid::initializers::identity(3);
    divided.partitioner = braid::fixed_size_partitioner(2);
    divided.regularizer = braid::l1_regularizer(0.5F);
    const auto parts = braid::get_variable(g, "parts", divided);
    expect(parts.parts.size() == 2 && parts.parts[0].shape_of() == braid::shape{3, 2}, "two parts");
    expect(has(message_of(BRAID_NOT_FOUND,
                          [&] {
                              braid::graph h;
                              const braid::variable_scope scope(h, "none", again);
                              h.get_variable<float>("w", {1}, braid::initializers::ones());
                          }),
               "optimizers_test.cc:"),
           "a reused variable that does not exist");

    const auto twice = braid::new_variable("twice", w.initial_value + w.initial_value);
    const auto handle = braid::new_resource_variable("handle", g.constant({1.0F, 2.0F}));
    const auto missing = braid::report_uninitialized_variables(g);
    const auto product = braid::matmul(w, braid::output(g.constant({{1.0F}, {0.0F}, {0.0F}, {0.0F}})));
    braid::session s(g);
    expect(s.run(missing).size() == 5, "variables without a value");
    s.run(g.global_variables_initializer());
    expect(s.run(missing).size() == 0, "all have one");
    float length = 0;
    const braid::tensor column = s.run(product);
    for (const float x : column.elements<float>())
        length += x * x;
    expect_near(length, 1, 1e-5, "an orthogonal matrix");
    expect_elements<float>(s.run(handle), {1, 2}, "a resource variable");
    expect(s.run(twice).size() == 16, "a variable of another's first value");
}

void initializers_are_values()
{
    namespace init = braid::initializers;
    braid::graph g;
    const std::vector<std::pair<braid_initializer, double>> kinds = {
        {init::constant(2), 2},
        {init::random_uniform(1, 1.5F), 1.25},
        {init::random_normal(3, 0.1F), 3},
        {init::truncated_normal(-1, 0.1F), -1},
        {init::variance_scaling(), 0},
        {init::glorot_uniform(), 0},
        {init::glorot_normal(), 0},
        {init::he_uniform(), 0},
        {init::he_normal(), 0},
        {init::lecun_uniform(), 0},
        {init::lecun_normal(), 0},
        {init::uniform_unit_scaling(), 0},
    };
    braid::outputs means;
    for (size_t i = 0; i < kinds.size(); i++) {
        const std::string name = "v" + std::to_string(i);
        means.push_back(braid::reduce_mean(
            g.get_variable<float>(name.c_str(), {40, 50}, init::seeded(kinds[i].first, 5))));
    }
    braid::session s(g);
    s.run(g.global_variables_initializer());
    const auto values = s.run({}, means);
    for (size_t i = 0; i < kinds.size(); i++)
        expect_near(values[i].scalar<float>(), kinds[i].second, 0.02, "the mean of an initializer");
}

void checkpoints_give_first_values()
{
    const temporary_dir dir;
    {
        braid::graph g;
        g.make_variable("old/a", {1.0F, 2.0F});
        g.make_variable("table", 7.0F);
        braid::saver saver(g);
        braid::session s(g);
        s.run(g.global_variables_initializer());
        saver.save(s, dir / "model", 3);
    }
    braid::graph g;
    const auto a = g.make_variable("new/a", {0.0F, 0.0F}), t = g.make_variable("t", 0.0F);
    braid::init_from_checkpoint(g, dir.path(), {{"old/", "new/"}, {"table", t}});
    braid::session s(g);
    s.run(g.global_variables_initializer());
    expect_elements<float>(s.run(a), {1, 2}, "a scope");
    expect_elements<float>(s.run(t), {7}, "a variable");
    braid::graph h;
    message_of(BRAID_NOT_FOUND, [&] { braid::init_from_checkpoint(h, dir.path(), {{"none", "new/a"}}); });
}

void sampled_classes_train()
{
    braid::graph g;
    g.set_seed(3);
    const auto weights = g.get_variable<float>("weights", {20, 4}, braid::initializers::random_normal());
    const auto biases = g.get_variable<float>("biases", {20}, braid::initializers::zeros());
    const auto labels = g.constant(braid::tensor(std::vector<int64_t>{3, 5}, {2, 1}));
    const auto inputs = g.constant({{1.0F, 0.0F, 0.0F, 1.0F}, {0.0F, 1.0F, 1.0F, 0.0F}});
    const auto loss = braid::reduce_mean(braid::nce_loss(weights, biases, labels, inputs, 6, 20));
    const auto softmax =
        braid::reduce_mean(braid::sampled_softmax_loss(weights, biases, labels, inputs, 6, 20));
    const auto train = braid::gradient_descent(g, 0.5F).minimize(loss + softmax);
    const std::vector<braid::candidates> drawn = {
        braid::log_uniform_candidate_sampler(labels, 4, 20), braid::uniform_candidate_sampler(labels, 4, 20),
        braid::learned_unigram_candidate_sampler(labels, 4, 20),
        braid::fixed_unigram_candidate_sampler(labels, 4, 20, std::vector<float>(20, 1.0F))};
    braid::session s(g);
    s.run(g.global_variables_initializer());
    for (const auto &c : drawn)
        for (const int64_t k : s.run(c.sampled).elements<int64_t>())
            expect(k >= 0 && k < 20, "a class");
    for (int i = 0; i < 100; i++)
        s.run(train);
    expect(s.run(loss).scalar<float>() < 1 && s.run(softmax).scalar<float>() < 0.5F, "the losses");
}

} // namespace

int main()
{
    return run_tests(all_optimizers_make_losses_smaller, gradients_are_values, learning_rates_decay,
                     averages_follow_variables, scopes_share_and_divide_variables, initializers_are_values,
                     checkpoints_give_first_values, sampled_classes_train);
}
