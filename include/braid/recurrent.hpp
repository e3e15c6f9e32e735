// Recurrent networks for C++ (C++17, over rnn.h, which describes them). Include braid.hpp.
//
//     auto cell = braid::multi_rnn_cell({braid::gru_cell(g, 64), braid::lstm_cell(g, 64)});
//     auto [y, state] = braid::dynamic_rnn(cell, x); // [batch, time, depth] -> [batch, time, 64]
#ifndef BRAID_RECURRENT_HPP
#define BRAID_RECURRENT_HPP

#include <braid/control.hpp>
#include <braid/rnn.h>

namespace braid
{

// ---- Cells ----

/// A cell, which belongs to its graph.
class rnn_cell
{
  public:
    rnn_cell(braid_rnn_cell *raw) : raw_(raw) {}
    operator braid_rnn_cell *() const
    {
        return raw_;
    }
    braid_graph *graph() const
    {
        return ::braid_rnn_cell_graph(raw_);
    }
    int64_t output_size() const
    {
        return ::braid_rnn_cell_output_size(raw_);
    }
    /// What its states are: matrices [batch, size].
    std::vector<braid_rnn_state> states() const
    {
        int count = 0;
        const braid_rnn_state *raw = ::braid_rnn_cell_states(raw_, &count);
        return {raw, raw + count};
    }
    /// States of zeros of T; `batch_size` is an int32 scalar.
    template <typename T> outputs zero_state(const output &batch_size, here at = here::now()) const
    {
        return detail::build(graph(), at, [&] {
            return detail::stored(states().size(), [&](braid_out *to) {
                ::braid_rnn_cell_zero_state(raw_, batch_size, dtype_of<T>(), to);
            });
        });
    }
    /// Makes the variables for inputs [batch, input_size] of T, unless it has them.
    template <typename T> void build(int64_t input_size, here at = here::now()) const
    {
        detail::build(graph(), at, [&] { ::braid_rnn_cell_build(raw_, dtype_of<T>(), input_size); });
    }
    /// One step of a cell that has its variables. Returns the output, and sets the states to the next ones.
    output step(const output &input, outputs &state, here at = here::now()) const
    {
        std::vector<braid_out> raw = detail::raw_outs(state);
        if (raw.size() != states().size())
            throw error(BRAID_INVALID_ARGUMENT, "a cell has " + std::to_string(states().size()) +
                                                    " states, not " + std::to_string(raw.size()));
        const output made = detail::build(
            graph(), at, [&] { return ::braid_rnn_cell_step(raw_, input, raw.data(), raw.data()); });
        state.assign(raw.begin(), raw.end());
        return made;
    }

  private:
    braid_rnn_cell *raw_;
};

inline rnn_cell basic_rnn_cell(braid_graph *g, int64_t units, const braid_rnn_cell_options &options = {},
                               here at = here::now())
{
    return detail::build(g, at, [&] { return ::braid_basic_rnn_cell(g, units, &options); });
}
inline rnn_cell gru_cell(braid_graph *g, int64_t units, const braid_rnn_cell_options &options = {},
                         here at = here::now())
{
    return detail::build(g, at, [&] { return ::braid_gru_cell(g, units, &options); });
}
/// States c and h.
inline rnn_cell basic_lstm_cell(braid_graph *g, int64_t units, float forget_bias = 1,
                                const braid_rnn_cell_options &options = {}, here at = here::now())
{
    return detail::build(g, at, [&] { return ::braid_basic_lstm_cell(g, units, forget_bias, &options); });
}
/// With peepholes, clipping and projection, if asked for. Options begin as braid_lstm_defaults().
inline rnn_cell lstm_cell(braid_graph *g, int64_t units,
                          const braid_lstm_options &options = ::braid_lstm_defaults(), here at = here::now())
{
    return detail::build(g, at, [&] { return ::braid_lstm_cell(g, units, &options); });
}

/// Layers: the output of a cell is the input of the next.
inline rnn_cell multi_rnn_cell(const std::vector<rnn_cell> &cells, here at = here::now())
{
    const std::vector<braid_rnn_cell *> raw(cells.begin(), cells.end());
    braid_graph *g = cells.empty() ? nullptr : cells[0].graph();
    return detail::build(g, at, [&] { return ::braid_multi_rnn_cell(g, raw.data(), detail::count_of(raw)); });
}
inline rnn_cell dropout_wrapper(const rnn_cell &cell, const braid_dropout_options &options,
                                here at = here::now())
{
    return detail::build(cell.graph(), at, [&] { return ::braid_dropout_wrapper(cell, &options); });
}
/// The output plus the input.
inline rnn_cell residual_wrapper(const rnn_cell &cell, here at = here::now())
{
    return detail::build(cell.graph(), at, [&] { return ::braid_residual_wrapper(cell); });
}
inline rnn_cell device_wrapper(const rnn_cell &cell, const char *device, here at = here::now())
{
    return detail::build(cell.graph(), at, [&] { return ::braid_device_wrapper(cell, device); });
}

// ---- One's own cells ----

/// The functions of a cell of one's own: see make_rnn_cell. The graph keeps the object.
class rnn_cell_functions
{
  public:
    virtual ~rnn_cell_functions() = default;
    /// Makes the variables for inputs [batch, input_size], once, in the scope of the cell.
    virtual void build(graph_ref, braid_dtype, int64_t /* input_size */) {}
    /// Builds a step: returns the output and changes the states to those after it.
    virtual output step(graph_ref g, const output &input, outputs &state) = 0;
};

namespace detail
{

/// The type of the C interface that calls rnn_cell_functions. An exception makes the graph fail.
struct rnn_cell_adapter {
    static const braid_rnn_cell_type *type()
    {
        static const braid_rnn_cell_type called{"rnn_cell", build, step};
        return &called;
    }
    static void release(void *functions)
    {
        delete static_cast<rnn_cell_functions *>(functions);
    }

  private:
    static rnn_cell_functions &of(braid_rnn_cell *cell)
    {
        return **static_cast<rnn_cell_functions **>(::braid_rnn_cell_data(cell));
    }
    static void build(braid_rnn_cell *cell, braid_dtype dtype, int64_t input_size)
    {
        braid_graph *g = ::braid_rnn_cell_graph(cell);
        callback({nullptr, 0}).run(g, [&] { of(cell).build(g, dtype, input_size); });
    }
    static braid_out step(braid_rnn_cell *cell, braid_out input, const braid_out *state, braid_out *next)
    {
        braid_graph *g = ::braid_rnn_cell_graph(cell);
        output made;
        callback({nullptr, 0}).run(g, [&] {
            const size_t count = rnn_cell(cell).states().size();
            outputs states(state, state + count);
            made = of(cell).step(g, input, states);
            store_outputs(states, count, next);
        });
        return made;
    }
};

} // namespace detail

/// A cell of one's own class: make_rnn_cell<my_cell>(g, "my_cell", 64, {{64, false}}, arguments of my_cell).
/// `name` is the scope of its variables.
template <typename Functions, typename... Args>
rnn_cell make_rnn_cell(braid_graph *g, const char *name, int64_t output_size,
                       const std::vector<braid_rnn_state> &states, Args &&...args)
{
    if (states.size() > BRAID_RNN_STATES_MAX)
        throw error(BRAID_INVALID_ARGUMENT, "a cell has too many states");
    rnn_cell_functions *functions = new Functions(std::forward<Args>(args)...);
    ::braid_graph_own(g, functions, detail::rnn_cell_adapter::release);
    braid_rnn_cell_spec spec{};
    spec.type = detail::rnn_cell_adapter::type();
    spec.name = name;
    spec.output_size = output_size;
    spec.state_count = detail::count_of(states);
    std::copy(states.begin(), states.end(), spec.states);
    spec.data = &functions;
    spec.data_size = sizeof functions;
    return detail::build(g, {nullptr, 0}, [&] { return ::braid_rnn_cell_new(g, &spec); });
}

// ---- Unrolling ----

struct rnn_options {
    outputs initial_state;   ///< none: zeros
    output sequence_length;  ///< [batch] from which on a row has zeros and keeps its state; none: all steps
    bool time_major = false; ///< inputs and outputs are [time, batch, depth]
    int parallel_iterations = 0;    ///< 0: 32
    const char *name = nullptr;     ///< the scope; nullptr: "rnn", or "bidirectional_rnn"
    outputs initial_backward_state; ///< of the second of two cells
};

/// The outputs of all steps, and the last states: auto [y, state] = dynamic_rnn(cell, x).
struct unrolled {
    output values;
    outputs state;
};
/// The same with an output for each step.
struct unrolled_steps {
    outputs values, state;
};
/// Of two cells.
struct unrolled_both {
    unrolled forward, backward;
};
struct unrolled_both_steps {
    outputs values; ///< those of both cells, joined
    outputs forward_state, backward_state;
};

namespace detail
{

/// Initial states for C, which are none or as many as the cell has.
inline std::vector<braid_out> initial(const rnn_cell &cell, const outputs &states)
{
    if (!states.empty() && states.size() != cell.states().size())
        throw error(BRAID_INVALID_ARGUMENT, "a cell has " + std::to_string(cell.states().size()) +
                                                " states, not " + std::to_string(states.size()));
    return raw_outs(states);
}

inline const braid_out *data_or_null(const std::vector<braid_out> &outs)
{
    return outs.empty() ? nullptr : outs.data();
}

inline braid_rnn_options raw_options(const rnn_options &options, const std::vector<braid_out> &initial)
{
    return {data_or_null(initial), options.sequence_length, options.time_major, options.parallel_iterations,
            options.name};
}

/// The states of two cells for C: where they begin, and room for the last ones.
struct both_states {
    std::vector<braid_out> forward_initial, backward_initial, forward, backward;
    both_states(const rnn_cell &fw, const rnn_cell &bw, const rnn_options &options)
        : forward_initial(initial(fw, options.initial_state)),
          backward_initial(initial(bw, options.initial_backward_state)), forward(fw.states().size()),
          backward(bw.states().size())
    {
    }
    braid_bidirectional_states raw()
    {
        return {{data_or_null(forward_initial), data_or_null(backward_initial)},
                {forward.data(), backward.data()}};
    }
};

} // namespace detail

/// Runs a cell over [batch, time, depth] in a loop.
inline unrolled dynamic_rnn(const rnn_cell &cell, const output &inputs, const rnn_options &options = {},
                            here at = here::now())
{
    const std::vector<braid_out> initial = detail::initial(cell, options.initial_state);
    const braid_rnn_options raw = detail::raw_options(options, initial);
    std::vector<braid_out> last(cell.states().size());
    const output values =
        detail::build(cell.graph(), at, [&] { return ::braid_dynamic_rnn(cell, inputs, &raw, last.data()); });
    return {values, {last.begin(), last.end()}};
}

/// Builds a step for each input [batch, depth].
inline unrolled_steps static_rnn(const rnn_cell &cell, const outputs &inputs, const rnn_options &options = {},
                                 here at = here::now())
{
    const std::vector<braid_out> initial = detail::initial(cell, options.initial_state);
    const braid_rnn_options raw = detail::raw_options(options, initial);
    const std::vector<braid_out> in = detail::raw_outs(inputs);
    std::vector<braid_out> made(in.size()), last(cell.states().size());
    detail::build(cell.graph(), at, [&] {
        ::braid_static_rnn(cell, in.data(), detail::count_of(in), &raw, made.data(), last.data());
    });
    return {{made.begin(), made.end()}, {last.begin(), last.end()}};
}

/// Runs a cell forwards in time and another one backwards.
inline unrolled_both bidirectional_dynamic_rnn(const rnn_cell &forward, const rnn_cell &backward,
                                               const output &inputs, const rnn_options &options = {},
                                               here at = here::now())
{
    braid_rnn_cell *const cells[] = {forward, backward};
    const braid_rnn_options raw = detail::raw_options(options, {});
    detail::both_states states(forward, backward, options);
    const braid_bidirectional_states raw_states = states.raw();
    braid_out made[2];
    detail::build(forward.graph(), at,
                  [&] { ::braid_bidirectional_dynamic_rnn(cells, inputs, &raw, &raw_states, made); });
    return {{made[0], {states.forward.begin(), states.forward.end()}},
            {made[1], {states.backward.begin(), states.backward.end()}}};
}

/// The same, with a step for each input.
inline unrolled_both_steps static_bidirectional_rnn(const rnn_cell &forward, const rnn_cell &backward,
                                                    const outputs &inputs, const rnn_options &options = {},
                                                    here at = here::now())
{
    braid_rnn_cell *const cells[] = {forward, backward};
    const braid_rnn_options raw = detail::raw_options(options, {});
    detail::both_states states(forward, backward, options);
    const braid_bidirectional_states raw_states = states.raw();
    const std::vector<braid_out> in = detail::raw_outs(inputs);
    std::vector<braid_out> made(in.size());
    detail::build(forward.graph(), at, [&] {
        ::braid_static_bidirectional_rnn(cells, in.data(), detail::count_of(in), &raw, &raw_states,
                                         made.data());
    });
    return {{made.begin(), made.end()},
            {states.forward.begin(), states.forward.end()},
            {states.backward.begin(), states.backward.end()}};
}

} // namespace braid
#endif
