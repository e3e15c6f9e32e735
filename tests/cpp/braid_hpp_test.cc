// The C++ interface: values, errors with lines, scopes, hooks, and what frees itself.
#include "check.hpp"

#include <braid/raw_ops.h>

namespace
{

void tensors_are_made_of_lists()
{
    const braid::tensor m({{1.0F, 2.0F, 3.0F}, {4.0F, 5.0F, 6.0F}});
    expect(m.shape_of() == braid::shape{2, 3} && m.elements<float>()[5] == 6, "a matrix");
    expect(braid::tensor({1, 2}).dtype() == BRAID_INT32, "a vector of int");
    expect(braid::tensor(2.5).scalar<double>() == 2.5, "a scalar");
    expect(braid::tensor(std::vector<bool>{true, false}).size() == 2, "bools");
    expect(braid::tensor(std::vector<std::string>{"a", "bc"}).text(1) == "bc", "strings");
    expect(braid::tensor(std::vector<float>(6), {3, -1 + 3}).shape_of()[1] == 2, "values in a shape");
    braid::tensor copy = m;
    copy = braid::tensor(1.0F);
    expect(m.size() == 6 && copy.size() == 1, "copies");
    expect(has(message_of(BRAID_INVALID_ARGUMENT, [&] { m.elements<double>(); }), "taken for one of double"),
           "another type");
    message_of(BRAID_INVALID_ARGUMENT, [] { braid::tensor(std::vector<float>(5), {2, 3}); });
    message_of(BRAID_INVALID_ARGUMENT, [] { braid::tensor({{1, 2}, {3}}); });
    message_of(BRAID_INVALID_ARGUMENT, [] { braid::tensor().size(); });
}

void operators_build_nodes()
{
    braid::graph g;
    const auto x = g.placeholder<float>("x", {-1, 2});
    const auto w = g.make_variable("w", braid::tensor({{1.0F, 2.0F}, {3.0F, 4.0F}}));
    const auto y = 2 * braid::matmul(x, w) + 1;
    const auto z = -(y - w) / 2.0F;
    braid::session s(g);
    s.run(g.global_variables_initializer());
    const auto values = s.run({{x, braid::tensor({{1.0F, 1.0F}, {0.0F, 1.0F}})}}, {y, z});
    expect(values[0].elements<float>()[0] == 9 && values[0].elements<float>()[3] == 9, "2 x w + 1");
    expect(values[1].elements<float>()[0] == -4, "-(y - w) / 2");
    // Functions of the C interface can be mixed in.
    const braid::output raw = g.build([&] { return braid_raw_Softplus(g, nullptr, x); });
    const braid::tensor soft = s.run(raw, {{x, braid::tensor({{0.0F, 1.0F}})}});
    expect(std::abs(soft.elements<float>()[0] - std::log(2.0F)) < 1e-6F, "a raw op");
}

void errors_name_the_line()
{
    braid::graph g;
    const auto x = g.placeholder<float>("x", braid::shape::unknown());
    const auto fixed = g.placeholder<float>("fixed", {2, 3});
    const std::string here = "braid_hpp_test.cc:";
    // clang-format off
    const int at = __LINE__ + 1;
    expect(has(message_of(BRAID_INVALID_ARGUMENT, [&] { braid::matmul(fixed, fixed); }), here + std::to_string(at)), "a function");
    braid::graph h;
    const auto a = h.placeholder<float>("a", {2, 3}), b = h.placeholder<float>("b", {4});
    const int plus = __LINE__ + 1;
    expect(has(message_of(BRAID_INVALID_ARGUMENT, [&] { (void)(a + b); }), here + std::to_string(plus)), "an operator");
    braid::graph r;
    const auto fed = r.placeholder<float>("fed", braid::shape::unknown());
    const int run = __LINE__ + 1;
    const auto product = braid::matmul(fed, fed);
    // clang-format on
    braid::session s(r);
    expect(has(message_of(BRAID_INVALID_ARGUMENT,
                          [&] {
                              s.run({{fed, braid::tensor({{1.0F, 2.0F}})}}, {product});
                          }),
               here + std::to_string(run)),
           "a run");
    expect(static_cast<bool>(x), "outputs are true");
    message_of(BRAID_INVALID_ARGUMENT, [] { braid::relu(braid::output()); });
}

void scopes_end_with_their_block()
{
    braid::graph g;
    braid::output inside;
    {
        const braid::name_scope names(g, "outer");
        const braid::device_scope device(g, "/job:ps/task:1");
        const auto first = g.constant(1.0F, "first");
        const braid::control_scope after(g, {first.op()});
        inside = g.constant(2.0F, "second");
    }
    expect(inside.op().name() == "outer/second", "the name");
    expect(std::string(braid_op_requested_device(inside.op())) == "/job:ps/task:1", "the device");
    const auto c = braid::cluster::from_json(R"({"ps": ["a:1", "b:1"], "worker": ["c:1"]})");
    {
        const braid::replica_device_scope replica(g, c);
        g.make_variable("v", 1.0F);
        const auto w = g.make_variable("w", 1.0F);
        expect(std::string(braid_op_requested_device(w.ref.op())) == "/job:ps/task:1", "the second ps");
    }
    const auto outside = g.constant(3.0F, "third");
    expect(outside.op().name() == "third" && !*braid_op_requested_device(outside.op()), "outside");
}

struct counting : braid::hook {
    explicit counting(int &s, int &e) : steps(s), ends(e) {}
    void before_run(braid_monitored_session *, braid::request &) override
    {
        steps++;
    }
    void end(braid_monitored_session *) override
    {
        ends++;
    }
    int &steps, &ends;
};

void hooks_are_classes_and_lambdas()
{
    braid::graph g;
    const auto w = g.make_variable("w", 4.0F);
    const auto loss = braid::square(w.read);
    const auto train = braid::gradient_descent(g, 0.25F).minimize(loss);
    int steps = 0, ends = 0;
    std::vector<float> losses;
    braid::monitored_session s(
        g, {},
        {braid_stop_at_step(3), braid::make_hook<counting>(steps, ends),
         braid::after_step({loss}, [&](const auto &v) { losses.push_back(v[0].template scalar<float>()); })});
    while (!s.should_stop())
        s.run(train);
    expect(steps == 3 && losses.size() == 3 && losses[0] == 16, "the steps");
    expect(s.evaluate(w).scalar<float>() == 0.5F, "the value after three steps");
    s.close();
    expect(ends == 1, "the end");

    braid::monitored_session t(g, {}, {braid::after_step({loss}, [](const auto &) {
                                   throw braid::error(BRAID_DATA_LOSS, "told to fail");
                               })});
    expect(has(message_of(BRAID_DATA_LOSS, [&] { t.run(train); }), "told to fail"), "an exception of a hook");
}

void sessions_run_on_servers()
{
    const braid::server server = braid::server::local();
    braid::graph g;
    const auto sum = g.constant(1.0F) + g.constant(2.0F);
    braid::session s(g, server.target());
    expect(s.run(sum).scalar<float>() == 3, "a run over the wire");
    s.close();
}

} // namespace

int main()
{
    return run_tests(tensors_are_made_of_lists, operators_build_nodes, errors_name_the_line,
                     scopes_end_with_their_block, hooks_are_classes_and_lambdas, sessions_run_on_servers);
}
