// Conditionals, loops, functions and tensor arrays for C++ (C++17, over control.h, function.h and
// tensor_array.h, which describe them). Include braid.hpp.
//
//     auto y = braid::cond(is_large, [&] { return x / 2; }, [&] { return x; });
//     auto last = braid::while_loop({i, x}, [&](const auto &v) { return v[0] < 10; },
//                                   [&](const auto &v) { return braid::outputs{v[0] + 1, v[1] * 2}; });
//
// Bodies are lambdas, which are called once, while the nodes are built. What they throw is thrown again.
#ifndef BRAID_CONTROL_HPP
#define BRAID_CONTROL_HPP

#include <braid/control.h>
#include <braid/function.h>
#include <braid/ops.hpp>
#include <braid/tensor_array.h>

#include <array>
#include <exception>

namespace braid
{

/// Several results of a branch or a function: return braid::pack(x, y).
template <typename... Outputs> std::array<output, sizeof...(Outputs)> pack(const Outputs &...outs)
{
    return {output(outs)...};
}

namespace detail
{

/// Keeps what a lambda throws that C calls back: it may not pass through C. The graph fails meanwhile.
class callback
{
  public:
    explicit callback(here at) : at_(at) {}
    template <typename Call> void run(braid_graph *g, Call &&call) noexcept
    {
        try {
            call();
        } catch (const error &e) {
            failed(g, e.code(), e.message().c_str());
        } catch (const std::exception &e) {
            failed(g, BRAID_UNKNOWN, e.what());
        } catch (...) {
            failed(g, BRAID_UNKNOWN, "a function of the program has thrown an exception of an unknown type");
        }
        ::braid_here(at_.file, at_.line); // the lambda has noted its own lines
    }
    void rethrow() const
    {
        if (thrown_) std::rethrow_exception(thrown_);
    }

  private:
    void failed(braid_graph *g, braid_code code, const char *message) noexcept
    {
        thrown_ = std::current_exception();
        (::braid_graph_fail)(g, code, "%s", message);
    }
    here at_;
    std::exception_ptr thrown_;
};

/// The results of a lambda: an output is one, an array has as many as it says.
template <typename Result> struct results {
    static constexpr size_t count = 1;
    static void store(const output &result, braid_out *to)
    {
        to[0] = result;
    }
    static output of(const outputs &made)
    {
        return made[0];
    }
};
template <size_t N> struct results<std::array<output, N>> {
    static constexpr size_t count = N;
    static void store(const std::array<output, N> &result, braid_out *to)
    {
        std::copy(result.begin(), result.end(), to);
    }
    static std::array<output, N> of(const outputs &made)
    {
        std::array<output, N> taken;
        std::copy(made.begin(), made.end(), taken.begin());
        return taken;
    }
};

inline void store_outputs(const outputs &from, size_t count, braid_out *to)
{
    if (from.size() != count)
        throw error(BRAID_INVALID_ARGUMENT, "a body returns " + std::to_string(from.size()) +
                                                " outputs instead of " + std::to_string(count));
    std::copy(from.begin(), from.end(), to);
}

inline std::vector<braid_shape> raw_shapes(const std::vector<shape> &shapes)
{
    return {shapes.begin(), shapes.end()};
}

} // namespace detail

// ---- Conditionals and loops ----

/// `then()` when `pred`, a bool scalar, is true, else `otherwise()`. Both return an output, or both an array
/// of outputs: auto [a, b] = cond(pred, [&] { return pack(x, y); }, [&] { return pack(y, x); }).
template <typename Then, typename Otherwise>
auto cond(const output &pred, Then &&then, Otherwise &&otherwise, const char *name = nullptr,
          here at = here::now())
{
    using made = detail::results<std::decay_t<std::invoke_result_t<Then &>>>;
    using other = detail::results<std::decay_t<std::invoke_result_t<Otherwise &>>>;
    static_assert(made::count == other::count, "both branches return equally many outputs");
    struct both {
        std::remove_reference_t<Then> &then;
        std::remove_reference_t<Otherwise> &otherwise;
        detail::callback guard;
    } branches{then, otherwise, detail::callback(at)};
    const auto build_then = [](void *arg, braid_graph *g, braid_out *to) {
        both &b = *static_cast<both *>(arg);
        b.guard.run(g, [&] { made::store(b.then(), to); });
    };
    const auto build_otherwise = [](void *arg, braid_graph *g, braid_out *to) {
        both &b = *static_cast<both *>(arg);
        b.guard.run(g, [&] { other::store(b.otherwise(), to); });
    };
    braid_graph *g = pred.graph();
    return made::of(detail::build(g, at, [&] {
        return detail::stored(made::count, [&](braid_out *to) {
            ::braid_cond(g, name, pred, build_then, build_otherwise, &branches, made::count, to);
            branches.guard.rethrow();
        });
    }));
}

struct while_options {
    int parallel_iterations = 0; ///< the maximum number of iterations in progress; 0: 10
    const char *name = nullptr;
    std::vector<shape>
        shape_invariants; ///< of variables whose shapes change; none: those of the first values
};

/// The last values of loop variables that begin with `init`. `condition` makes a bool scalar of the variables
/// (an outputs), and `body` their next values.
template <typename Condition, typename Body>
outputs while_loop(const outputs &init, Condition &&condition, Body &&body, const while_options &options = {},
                   here at = here::now())
{
    struct both {
        std::remove_reference_t<Condition> &condition;
        std::remove_reference_t<Body> &body;
        size_t count;
        detail::callback guard;
        outputs vars(const braid_out *raw) const
        {
            return {raw, raw + count};
        }
    } functions{condition, body, init.size(), detail::callback(at)};
    const std::vector<braid_shape> invariants = detail::raw_shapes(options.shape_invariants);
    if (!invariants.empty() && invariants.size() != init.size())
        throw error(BRAID_INVALID_ARGUMENT, "a loop has a shape invariant for each variable, or none");
    braid_loop loop{};
    loop.condition = [](void *arg, braid_graph *g, const braid_out *vars) {
        both &b = *static_cast<both *>(arg);
        output decides;
        b.guard.run(g, [&] { decides = b.condition(b.vars(vars)); });
        return static_cast<braid_out>(decides);
    };
    loop.body = [](void *arg, braid_graph *g, const braid_out *vars, braid_out *next) {
        both &b = *static_cast<both *>(arg);
        b.guard.run(g, [&] { detail::store_outputs(b.body(b.vars(vars)), b.count, next); });
    };
    loop.arg = &functions;
    loop.parallel_iterations = options.parallel_iterations;
    loop.name = options.name;
    loop.shape_invariants = invariants.empty() ? nullptr : invariants.data();
    const std::vector<braid_out> raw = detail::raw_outs(init);
    braid_graph *g = detail::graph_of(init);
    return detail::build(g, at, [&] {
        return detail::stored(init.size(), [&](braid_out *to) {
            ::braid_while(g, &loop, raw.data(), detail::count_of(raw), to);
            functions.guard.rethrow();
        });
    });
}

// ---- Functions of the graph's library ----

/// An argument of a function.
struct argument {
    braid_dtype dtype;
    braid::shape shape = braid::shape::unknown();
};

/// A function: a value, which belongs to the graph.
struct function {
    std::string name; ///< for attributes of type func
    outputs captured; ///< of the graph outside; a call passes them behind the arguments
    std::vector<braid_dtype> result_dtypes;
    bool is_stateful;
};

/// Builds a function of the graph's library. `build` gets the body, a graph_ref, and the arguments, an
/// outputs, and returns an output or an array of them (pack).
template <typename Build>
function make_function(braid_graph *g, const char *name, const std::vector<argument> &arguments,
                       Build &&build, here at = here::now())
{
    using made = detail::results<std::decay_t<std::invoke_result_t<Build &, graph_ref, const outputs &>>>;
    struct body {
        std::remove_reference_t<Build> &build;
        size_t count;
        detail::callback guard;
    } called{build, arguments.size(), detail::callback(at)};
    std::vector<braid_dtype> dtypes;
    std::vector<braid_shape> shapes;
    for (const argument &a : arguments) {
        dtypes.push_back(a.dtype);
        shapes.push_back(a.shape);
    }
    braid_function_spec spec{};
    spec.name = name;
    spec.arg_dtypes = dtypes.data();
    spec.arg_shapes = shapes.data();
    spec.arg_count = detail::count_of(arguments);
    spec.result_count = static_cast<int>(made::count);
    spec.build = [](void *arg, braid_graph *inner, const braid_out *args, braid_out *to) {
        body &b = *static_cast<body *>(arg);
        b.guard.run(inner,
                    [&] { made::store(b.build(graph_ref(inner), outputs(args, args + b.count)), to); });
    };
    spec.arg = &called;
    const braid_function raw = detail::build(g, at, [&] {
        const braid_function f = ::braid_function_build(g, &spec);
        called.guard.rethrow();
        return f;
    });
    return {raw.name,
            {raw.captured, raw.captured + raw.captured_count},
            {raw.result_dtypes, raw.result_dtypes + raw.result_count},
            raw.is_stateful};
}

// ---- Tensor arrays ----

/// An array of tensors that the iterations of a loop read and write. A write returns the array after it,
/// which the next operation must use; a loop has its `flow` as a variable, and the body uses with_flow.
class tensor_array
{
  public:
    /// Of `size` (int32 scalar) elements of T.
    template <typename T>
    static tensor_array make(const output &size, const shape &element_shape = shape::unknown(),
                             const braid_tensor_array_options &options = {}, here at = here::now())
    {
        braid_graph *g = size.graph();
        return detail::build(
            g, at, [&] { return ::braid_tensor_array_new(g, dtype_of<T>(), element_shape, size, &options); });
    }
    tensor_array(const braid_tensor_array &raw) : raw_(raw) {}
    operator braid_tensor_array() const
    {
        return raw_;
    }
    output flow() const
    {
        return raw_.flow;
    }
    tensor_array with_flow(const output &flow) const
    {
        braid_tensor_array raw = raw_;
        raw.flow = flow;
        return raw;
    }

    output read(const output &index, here at = here::now()) const
    {
        return build(at, [&] { return ::braid_tensor_array_read(graph(), raw_, index); });
    }
    tensor_array write(const output &index, const output &value, here at = here::now()) const
    {
        return build(at, [&] { return ::braid_tensor_array_write(graph(), raw_, index, value); });
    }
    /// The elements `indices`, joined along a new first dimension.
    output gather(const output &indices, here at = here::now()) const
    {
        return build(at, [&] { return ::braid_tensor_array_gather(graph(), raw_, indices); });
    }
    tensor_array scatter(const output &indices, const output &value, here at = here::now()) const
    {
        return build(at, [&] { return ::braid_tensor_array_scatter(graph(), raw_, indices, value); });
    }
    /// All elements, joined along their first dimension.
    output concat(here at = here::now()) const
    {
        return build(at, [&] { return ::braid_tensor_array_concat(graph(), raw_); });
    }
    tensor_array split(const output &value, const output &lengths, here at = here::now()) const
    {
        return build(at, [&] { return ::braid_tensor_array_split(graph(), raw_, value, lengths); });
    }
    /// All elements, joined along a new first dimension; and the reverse.
    output stack(here at = here::now()) const
    {
        return build(at, [&] { return ::braid_tensor_array_stack(graph(), raw_); });
    }
    tensor_array unstack(const output &value, here at = here::now()) const
    {
        return build(at, [&] { return ::braid_tensor_array_unstack(graph(), raw_, value); });
    }
    /// The number of elements, an int32 scalar.
    output size(here at = here::now()) const
    {
        return build(at, [&] { return ::braid_tensor_array_size(graph(), raw_); });
    }
    /// A node that frees the elements before the step ends.
    operation close(here at = here::now()) const
    {
        return build(at, [&] { return ::braid_tensor_array_close(graph(), raw_); });
    }

  private:
    braid_graph *graph() const
    {
        return output(raw_.handle).graph();
    }
    template <typename Build> auto build(here at, Build &&call) const -> decltype(call())
    {
        return detail::build(graph(), at, std::forward<Build>(call));
    }
    braid_tensor_array raw_;
};

} // namespace braid
#endif
