// Recurrent networks in C++: cells of the library and of the program, unrolled and trained.
#include "check.hpp"

namespace
{

using braid::outputs;

braid::tensor waves()
{
    std::vector<float> values;
    for (int row = 0; row < 4; row++)
        for (int t = 0; t < 6; t++)
            values.push_back(std::sin(0.5F * static_cast<float>(row + t)));
    return {values, {4, 6, 1}};
}

void networks_learn_sequences()
{
    braid::graph g;
    g.set_seed(5);
    const auto x = g.placeholder<float>("x", {4, 6, 1});
    const auto cell =
        braid::multi_rnn_cell({braid::gru_cell(g, 8), braid::residual_wrapper(braid::basic_lstm_cell(g, 8))});
    expect(cell.output_size() == 8 && cell.states().size() == 3, "the states of all layers");
    const auto [y, state] = braid::dynamic_rnn(cell, x);
    expect(y.shape_of() == braid::shape{4, 6, 8} && state.size() == 3, "outputs and states");
    // The network tells the value of the next step.
    const auto next = g.placeholder<float>("next", {4, 6, 1});
    const auto loss = braid::losses::mean_squared_error(next, braid::layers::dense(y, 1));
    const auto train = braid::adam(g, 0.02F).minimize(loss);
    const braid::tensor series = waves();
    std::vector<float> shifted;
    for (int row = 0; row < 4; row++)
        for (int t = 0; t < 6; t++)
            shifted.push_back(std::sin(0.5F * static_cast<float>(row + t + 1)));
    const braid::feeds fed = {{x, series}, {next, {shifted, {4, 6, 1}}}};
    braid::session s(g);
    s.run(g.global_variables_initializer());
    const float before = s.run(loss, fed).scalar<float>();
    for (int i = 0; i < 80; i++)
        s.run(train, fed);
    expect(s.run(loss, fed).scalar<float>() < 0.2F * before, "the loss has become smaller");
}

// The state is the sum of the inputs times a weight; the output is twice the state.
struct summing : braid::rnn_cell_functions {
    explicit summing(float w) : weight(w) {}
    void build(braid::graph_ref g, braid_dtype, int64_t input_size) override
    {
        factor = g.get_variable<float>("factor", {input_size}, braid::initializers::constant(weight));
    }
    braid::output step(braid::graph_ref, const braid::output &input, outputs &state) override
    {
        if (weight < 0) throw braid::error(BRAID_INVALID_ARGUMENT, "a weight is negative");
        state[0] = state[0] + input * factor;
        return state[0] * 2;
    }
    float weight;
    braid::output factor;
};

void cells_of_the_program_are_classes()
{
    braid::graph g;
    const auto cell = braid::make_rnn_cell<summing>(g, "summing", 2, {{2, false}}, 3.0F);
    const auto x = g.constant(braid::tensor({1.0F, 2.0F, 3.0F, 4.0F}, {1, 2, 2}));
    const auto [y, state] = braid::dynamic_rnn(cell, x);
    expect(g.find("rnn/summing/factor"), "the scope of the variable");
    const auto steps = braid::static_rnn(cell, {g.constant({{1.0F, 1.0F}}), g.constant({{2.0F, 2.0F}})});
    outputs by_hand = cell.zero_state<float>(g.constant(1));
    const auto one = cell.step(g.constant({{5.0F, 6.0F}}), by_hand);
    outputs none;
    message_of(BRAID_INVALID_ARGUMENT, [&] { cell.step(g.constant({{5.0F, 6.0F}}), none); });
    braid::session s(g);
    s.run(g.global_variables_initializer());
    expect_elements<float>(s.run(y), {6, 12, 24, 36}, "outputs");
    expect_elements<float>(s.run(state[0]), {12, 18}, "the last state");
    expect_elements<float>(s.run(steps.values[1]), {18, 18}, "a step of its own");
    expect_elements<float>(s.run(one), {30, 36}, "one step");
    expect_elements<float>(s.run(by_hand[0]), {15, 18}, "the state after it");

    braid::graph h;
    const auto bad = braid::make_rnn_cell<summing>(h, "bad", 2, {{2, false}}, -1.0F);
    const auto input = h.placeholder<float>("input", {1, 3, 2});
    expect(has(message_of(BRAID_INVALID_ARGUMENT, [&] { braid::dynamic_rnn(bad, input); }), "is negative"),
           "an exception of a cell");
}

void networks_run_in_both_directions()
{
    braid::graph g;
    const auto sum = [&](const char *name) {
        return braid::make_rnn_cell<summing>(g, name, 1, {{1, false}}, 1.0F);
    };
    braid::rnn_options lengths;
    lengths.sequence_length = g.constant({2, 3});
    lengths.initial_state = {g.constant({{10.0F}, {0.0F}})};
    const auto x = g.constant(braid::tensor({1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F}, {2, 3, 1}));
    const auto both = braid::bidirectional_dynamic_rnn(sum("a"), sum("b"), x, lengths);
    const auto steps =
        braid::static_bidirectional_rnn(sum("c"), sum("d"), {g.constant({{1.0F}}), g.constant({{2.0F}})});
    lengths.initial_state = {g.constant(1.0F), g.constant(1.0F)};
    message_of(BRAID_INVALID_ARGUMENT, [&] { braid::dynamic_rnn(sum("e"), x, lengths); });
    braid::session s(g);
    s.run(g.global_variables_initializer());
    const auto values = s.run({}, {both.forward.values, both.backward.values, both.forward.state[0],
                                   both.backward.state[0], steps.values[0], steps.backward_state[0]});
    expect_elements<float>(values[0], {22, 26, 0, 8, 18, 30}, "forwards");
    expect_elements<float>(values[1], {6, 4, 0, 30, 22, 12}, "backwards from the end of each row");
    expect_elements<float>(values[2], {13, 15}, "the last states");
    expect_elements<float>(values[3], {3, 15}, "those of the second cell");
    expect_elements<float>(values[4], {2, 6}, "outputs of both cells");
    expect_elements<float>(values[5], {3}, "the state of the second cell");
}

void cells_have_options()
{
    braid::graph g;
    const auto x = g.constant(waves());
    braid_lstm_options projected = braid_lstm_defaults();
    projected.num_proj = 3;
    projected.use_peepholes = true;
    const auto lstm = braid::lstm_cell(g, 5, projected);
    expect(lstm.output_size() == 3 && lstm.states()[0].size == 5 && lstm.states()[0].is_memory,
           "a projection");
    braid_dropout_options dropped{};
    dropped.output_keep_prob = g.constant(1e-9F);
    braid_rnn_cell_options named{};
    named.name = "mine";
    named.activation = braid_relu;
    named.kernel_initializer = braid::initializers::ones();
    const auto dropping = braid::dropout_wrapper(braid::basic_rnn_cell(g, 2, named), dropped);
    const auto placed = braid::device_wrapper(braid::gru_cell(g, 2), "/device:CPU:0");
    placed.build<float>(1);
    const auto a = braid::dynamic_rnn(lstm, x).values, b = braid::dynamic_rnn(dropping, x).values;
    expect(g.find("rnn/mine/kernel"), "a name");
    braid::session s(g);
    s.run(g.global_variables_initializer());
    expect(s.run(a).shape_of() == braid::shape{4, 6, 3}, "the projected outputs");
    const braid::tensor zeros = s.run(b);
    for (const float y : zeros.elements<float>())
        expect(y == 0, "a dropped output");
}

} // namespace

int main()
{
    return run_tests(networks_learn_sequences, cells_of_the_program_are_classes,
                     networks_run_in_both_directions, cells_have_options);
}
