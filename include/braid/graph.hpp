// Graphs for C++ (C++17, over graph.h, ops.h and variables.h). Include braid.hpp.
//
// Building functions throw braid::error at once; the message ends with the line of the program that called
// them, which the compiler gives as a default argument.
#ifndef BRAID_GRAPH_HPP
#define BRAID_GRAPH_HPP

#include <braid/ops.h>
#include <braid/tensor.hpp>
#include <braid/variables.h>

namespace braid
{

/// A line of the program: as a default argument, that of the call.
struct here {
    const char *file;
    int line;
    static constexpr here now(const char *file = __builtin_FILE(), int line = __builtin_LINE())
    {
        return {file, line};
    }
};

namespace detail
{

/// Notes the line, builds, and throws the error that the graph has then.
template <typename Build> auto build(braid_graph *graph, here at, Build &&call) -> decltype(call())
{
    if (!graph) throw error(BRAID_INVALID_ARGUMENT, "there is no graph");
    struct noted {
        explicit noted(here at)
        {
            ::braid_here(at.file, at.line);
        }
        ~noted()
        {
            ::braid_here(nullptr, 0);
        }
    } line(at);
    const auto check = [graph] {
        if (!::braid_graph_status(graph, nullptr)) return;
        status st;
        ::braid_graph_status(graph, st);
        st.check();
    };
    if constexpr (std::is_void_v<decltype(call())>) {
        call();
        check();
    } else {
        auto made = call();
        check();
        return made;
    }
}

} // namespace detail

class output;

/// A node.
class operation
{
  public:
    operation() = default; ///< no node
    operation(braid_op *raw) : raw_(raw) {}
    operator braid_op *() const
    {
        return raw_;
    }
    std::string name() const
    {
        return raw_ ? ::braid_op_name(raw_) : "";
    }
    std::string type() const
    {
        return raw_ ? ::braid_op_type(raw_) : "";
    }
    /// Its output of that number.
    output out(int index = 0) const;

  private:
    braid_op *raw_ = nullptr;
};

/// An output of a node.
class output
{
  public:
    output() = default; ///< no output
    output(braid_out raw) : raw_(raw) {}
    operator braid_out() const
    {
        return raw_;
    }
    operation op() const
    {
        return raw_.op;
    }
    int index() const
    {
        return raw_.index;
    }
    braid_graph *graph() const
    {
        return raw_.op ? ::braid_op_graph(raw_.op) : nullptr;
    }
    braid_dtype dtype() const
    {
        return ::braid_out_dtype(raw_);
    }
    braid::shape shape_of() const
    {
        return ::braid_out_shape(raw_);
    }
    explicit operator bool() const
    {
        return raw_.op;
    }

  private:
    braid_out raw_ = {nullptr, 0};
};

inline output operation::out(int index) const
{
    return braid_out{raw_, index};
}

/// Some outputs: {x, y}.
using outputs = std::vector<output>;

namespace detail
{

template <typename List> int count_of(const List &list)
{
    return static_cast<int>(list.size());
}

inline std::vector<braid_out> raw_outs(const outputs &outs)
{
    return {outs.begin(), outs.end()};
}

/// The graph of the first output that there is.
inline braid_graph *graph_of(const outputs &outs)
{
    for (const output &out : outs)
        if (out) return out.graph();
    return nullptr;
}

/// Calls what stores `count` outputs to the place that it gets.
template <typename Store> outputs stored(size_t count, Store &&store)
{
    std::vector<braid_out> made(count);
    store(made.data());
    return {made.begin(), made.end()};
}

} // namespace detail

/// A variable: `ref` for assignments, `read` for models; it stands for its value where an output is wanted. A
/// partitioned variable has `parts` in place of `ref`.
struct variable {
    output ref, read;
    operation initializer;
    output initial_value;
    outputs parts;
    variable(const braid_variable &v)
        : ref(v.ref), read(v.read), initializer(v.initializer), initial_value(v.initial_value),
          parts(v.parts, v.parts + v.part_count), raw_(v)
    {
    }
    operator output() const
    {
        return read;
    }
    operator braid_out() const
    {
        return read;
    }
    operator const braid_variable &() const
    {
        return raw_;
    }

  private:
    braid_variable raw_;
};

/// A graph that belongs to another object: a graph, or the function that is being built (dataset::map).
class graph_ref
{
  public:
    graph_ref(braid_graph *raw) : raw_(raw) {}
    operator braid_graph *() const
    {
        return raw_;
    }
    braid_graph *get() const
    {
        return raw_;
    }
    void set_seed(int64_t seed)
    {
        ::braid_graph_set_seed(get(), seed);
    }

    template <typename T> output placeholder(const char *name, const shape &s, here at = here::now())
    {
        return build(at, [&] { return ::braid_placeholder(get(), name, dtype_of<T>(), s); });
    }
    /// A constant: a number, a string, or a tensor.
    output constant(const tensor &value, const char *name = nullptr, here at = here::now())
    {
        return build(at, [&] { return ::braid_const(get(), name, value.get()); });
    }
    variable make_variable(const char *name, const tensor &value, bool trainable = true,
                           here at = here::now())
    {
        return build(at, [&] { return ::braid_variable_of(get(), name, value.get(), trainable); });
    }
    template <typename T>
    variable get_variable(const char *name, const shape &s, braid_initializer initializer,
                          bool trainable = true, here at = here::now())
    {
        return build(
            at, [&] { return ::braid_variable_get(get(), name, dtype_of<T>(), s, initializer, trainable); });
    }
    output global_step(here at = here::now())
    {
        return build(at, [&] { return ::braid_global_step(get()); });
    }
    operation global_variables_initializer(here at = here::now())
    {
        return build(at, [&] { return ::braid_global_variables_initializer(get()); });
    }
    operation local_variables_initializer(here at = here::now())
    {
        return build(at, [&] { return ::braid_local_variables_initializer(get()); });
    }
    /// Any op with default attributes; raw_ops.h has all ops with all attributes.
    operation add(const char *op_type, std::initializer_list<output> inputs, const char *name = nullptr,
                  here at = here::now())
    {
        const std::vector<braid_out> raw(inputs.begin(), inputs.end());
        return build(at, [&] {
            return ::braid_op_add(get(), op_type, name, raw.data(), static_cast<int>(raw.size()));
        });
    }
    /// Calls a function of the C interface that builds in this graph, for its errors:
    /// g.build([&] { return braid_raw_Neg(g, nullptr, x); }).
    template <typename Build> auto build(Build &&call, here at = here::now()) -> decltype(call())
    {
        return build(at, std::forward<Build>(call));
    }
    operation find(const char *name) const
    {
        return ::braid_graph_find(get(), name);
    }
    /// The output "name" or "name:index".
    output find_output(const char *name) const
    {
        return ::braid_graph_find_out(get(), name);
    }
    int size() const
    {
        return ::braid_graph_num_ops(get());
    }

  private:
    template <typename Build> auto build(here at, Build &&call) -> decltype(call())
    {
        return detail::build(get(), at, std::forward<Build>(call));
    }

  protected:
    braid_graph *raw_;
};

/// A graph of the program's own. Sessions on it must be gone before it is.
class graph : public graph_ref
{
  public:
    graph() : graph_ref(::braid_graph_new()) {}
    graph(graph &&other) noexcept : graph_ref(std::exchange(other.raw_, nullptr)) {}
    graph &operator=(graph &&other) noexcept
    {
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~graph()
    {
        ::braid_graph_free(get());
    }
};

// ---- Scopes: in force until the end of their block ----

/// Names begin with "scope/".
class name_scope
{
  public:
    name_scope(braid_graph *g, const char *scope) : g_(g)
    {
        ::braid_push_name_scope(g, scope);
    }
    ~name_scope()
    {
        ::braid_pop_name_scope(g_);
    }
    name_scope(const name_scope &) = delete;
    name_scope &operator=(const name_scope &) = delete;

  private:
    braid_graph *g_;
};

/// Nodes request a device: "/job:ps/task:0".
class device_scope
{
  public:
    device_scope(braid_graph *g, const char *device) : g_(g)
    {
        ::braid_push_device(g, device);
    }
    ~device_scope()
    {
        ::braid_pop_device(g_);
    }
    device_scope(const device_scope &) = delete;
    device_scope &operator=(const device_scope &) = delete;

  private:
    braid_graph *g_;
};

/// Nodes run after all of `ops`.
class control_scope
{
  public:
    control_scope(braid_graph *g, std::initializer_list<operation> ops) : g_(g)
    {
        const std::vector<braid_op *> raw(ops.begin(), ops.end());
        ::braid_push_control(g, raw.data(), static_cast<int>(raw.size()));
    }
    ~control_scope()
    {
        ::braid_pop_control(g_);
    }
    control_scope(const control_scope &) = delete;
    control_scope &operator=(const control_scope &) = delete;

  private:
    braid_graph *g_;
};

} // namespace braid
#endif
