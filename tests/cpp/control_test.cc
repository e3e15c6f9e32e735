// Conditionals, loops, functions and tensor arrays in C++.
#include "check.hpp"

#include <braid/raw_ops.h>

namespace
{

using braid::outputs;

void branches_are_lambdas()
{
    braid::graph g;
    const auto pred = g.placeholder<bool>("pred", {});
    const auto x = g.placeholder<float>("x", {});
    const auto one = braid::cond(
        pred, [&] { return x * 2; }, [&] { return x - 1; });
    const auto [a, b] = braid::cond(
        pred, [&] { return braid::pack(x, x + 1); }, [&] { return braid::pack(x + 2, x); });
    const auto slope = braid::gradients({one}, {x})[0];
    braid::session s(g);
    for (const bool is_true : {true, false}) {
        const auto values = s.run({{pred, is_true}, {x, 5.0F}}, {one, a, b, slope});
        expect_elements<float>(values[0], {is_true ? 10.0F : 4.0F}, "one result");
        expect_elements<float>(values[1], {is_true ? 5.0F : 7.0F}, "the first of two");
        expect_elements<float>(values[2], {is_true ? 6.0F : 5.0F}, "the second of two");
        expect_elements<float>(values[3], {is_true ? 2.0F : 1.0F}, "the gradient");
    }
}

void loops_are_lambdas()
{
    braid::graph g;
    const auto limit = g.constant(5);
    const auto last = braid::while_loop(
        {g.constant(0), g.constant(1.0F)}, [&](const outputs &v) { return v[0] < limit; },
        [](const outputs &v) {
            return outputs{v[0] + 1, v[1] * 3};
        });
    braid::while_options grows;
    grows.name = "grow";
    grows.shape_invariants = {{}, {-1}};
    const auto longer = braid::while_loop(
        {g.constant(0), g.constant({1, 2})}, [](const outputs &v) { return v[0] < 3; },
        [&](const outputs &v) {
            const braid_out both[] = {v[1], v[1]};
            return outputs{v[0] + 1, g.build([&] { return braid_concat(g, both, 2, 0); })};
        },
        grows);
    expect(longer[1].shape_of() == braid::shape{-1} && longer[1].op().name().rfind("grow/", 0) == 0,
           "options of a loop");
    braid::session s(g);
    expect_elements<float>(s.run(last[1]), {243}, "three to the fifth");
    expect(s.run(longer[1]).size() == 16, "a variable that grows");

    braid::graph h;
    const auto wrong = [&] {
        braid::while_loop(
            {h.constant(0)}, [](const outputs &v) { return v[0] < 3; },
            [](const outputs &v) {
                return outputs{v[0], v[0]};
            });
    };
    expect(has(message_of(BRAID_INVALID_ARGUMENT, wrong), "2 outputs instead of 1"), "too many results");
}

void functions_are_called_by_ops()
{
    braid::graph g;
    const auto offset = g.constant(100.0F);
    const auto f =
        braid::make_function(g, "scale", {{BRAID_FLOAT, {2}}, {BRAID_FLOAT}},
                             [&](braid::graph_ref, const outputs &x) { return x[0] * x[1] + offset; });
    expect(f.name.rfind("scale", 0) == 0 && f.captured.size() == 1 && !f.is_stateful, "what it is");
    const braid_out args[] = {g.constant({1.0F, 2.0F}), g.constant(3.0F), f.captured[0]};
    const auto result = g.build([&] {
        braid_raw_PartitionedCall_attrs attrs{};
        return braid_raw_PartitionedCall(g, nullptr, args, 3, f.result_dtypes.data(), 1, f.name.c_str(),
                                         &attrs);
    });
    braid::session s(g);
    expect_elements<float>(s.run(braid::operation(result.op).out()), {103, 106}, "a call");
}

void arrays_are_written_by_loops()
{
    braid::graph g;
    const auto size = g.constant(4);
    const auto begin = braid::tensor_array::make<float>(size, {});
    const auto last = braid::while_loop(
        {g.constant(0), begin.flow()}, [&](const outputs &v) { return v[0] < size; },
        [&](const outputs &v) {
            const auto squared = braid::square(braid::cast<float>(v[0]));
            return outputs{v[0] + 1, begin.with_flow(v[1]).write(v[0], squared).flow()};
        });
    const auto squares = begin.with_flow(last[1]).stack();
    braid_tensor_array_options kept{};
    kept.keep_after_read = true;
    const auto rows = g.constant({{1.0F, 2.0F}, {3.0F, 4.0F}});
    const auto pairs =
        braid::tensor_array::make<float>(g.constant(2), braid::shape::unknown(), kept).unstack(rows);
    braid_tensor_array_options varied{};
    varied.varied_shapes = true;
    const auto pieces = braid::tensor_array::make<float>(g.constant(2), braid::shape::unknown(), varied)
                            .split(g.constant({1.0F, 2.0F, 3.0F}), g.constant({1, 2}));
    const auto scattered = braid::tensor_array::make<float>(g.constant(2)).scatter(g.constant({1, 0}), rows);
    braid::session s(g);
    expect_elements<float>(s.run(squares), {0, 1, 4, 9}, "what the iterations wrote");
    const auto values = s.run({}, {pairs.read(g.constant(1)), pairs.gather(g.constant({1, 0})), pairs.size(),
                                   pieces.concat(), scattered.read(g.constant(0))});
    expect_elements<float>(values[0], {3, 4}, "an element");
    expect_elements<float>(values[1], {3, 4, 1, 2}, "some elements");
    expect_elements<int32_t>(values[2], {2}, "their number");
    expect_elements<float>(values[3], {1, 2, 3}, "pieces");
    expect_elements<float>(values[4], {3, 4}, "a scattered element");
    s.run(pairs.close());
}

} // namespace

int main()
{
    return run_tests(branches_are_lambdas, loops_are_lambdas, functions_are_called_by_ops,
                     arrays_are_written_by_loops);
}
