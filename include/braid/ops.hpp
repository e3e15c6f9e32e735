// Ops for C++ (C++17, over ops.h): operators and functions. Include braid.hpp.
#ifndef BRAID_OPS_HPP
#define BRAID_OPS_HPP

#include <braid/graph.hpp>
#include <braid/ops.h>

namespace braid
{

// ---- Ops ----

namespace detail
{

using unary_fn = braid_out (*)(braid_graph *, braid_out);
using binary_fn = braid_out (*)(braid_graph *, braid_out, braid_out);

inline output unary(unary_fn fn, const output &x, here at)
{
    return build(x.graph(), at, [&] { return fn(x.graph(), x); });
}

inline output binary(binary_fn fn, const output &x, const output &y, here at)
{
    return build(x.graph(), at, [&] { return fn(x.graph(), x, y); });
}

/// An operand, with the line on which it was one: operators have no default arguments.
struct operand {
    output out;
    double number = 0;
    here at;
    operand(const output &x, here line = here::now()) : out(x), at(line) {}
    operand(const variable &x, here line = here::now()) : out(x.read), at(line) {}
    template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
    operand(T x, here line = here::now()) : number(static_cast<double>(x)), at(line)
    {
    }
    /// A number becomes a constant of the other operand's type.
    output like(const operand &sibling) const
    {
        const output &other = sibling.out;
        if (out) return out;
        return build(other.graph(), at, [&] {
            const braid_dtype dtype = static_cast<braid_dtype>(other.dtype() % 100); // of a reference
            return ::braid_const_number(other.graph(), nullptr, dtype, number);
        });
    }
};

inline output binary(binary_fn fn, const operand &x, const operand &y)
{
    return binary(fn, x.like(y), y.like(x), x.at);
}

} // namespace detail

// Element by element; shapes broadcast as in numpy. A number takes the type of the other side.
inline output operator+(const detail::operand &x, const detail::operand &y)
{
    return detail::binary(::braid_add, x, y);
}
inline output operator-(const detail::operand &x, const detail::operand &y)
{
    return detail::binary(::braid_sub, x, y);
}
inline output operator*(const detail::operand &x, const detail::operand &y)
{
    return detail::binary(::braid_mul, x, y);
}
inline output operator/(const detail::operand &x, const detail::operand &y)
{
    return detail::binary(::braid_div, x, y);
}
inline output operator-(const detail::operand &x)
{
    return detail::unary(::braid_neg, x.out, x.at);
}

// A bool for each element; equal() and not_equal() are functions, so that == may compare C++ objects.
inline output operator<(const detail::operand &x, const detail::operand &y)
{
    return detail::binary(::braid_less, x, y);
}
inline output operator<=(const detail::operand &x, const detail::operand &y)
{
    return detail::binary(::braid_less_equal, x, y);
}
inline output operator>(const detail::operand &x, const detail::operand &y)
{
    return detail::binary(::braid_greater, x, y);
}
inline output operator>=(const detail::operand &x, const detail::operand &y)
{
    return detail::binary(::braid_greater_equal, x, y);
}

inline output abs(const output &x, here at = here::now())
{
    return detail::unary(::braid_abs, x, at);
}
inline output square(const output &x, here at = here::now())
{
    return detail::unary(::braid_square, x, at);
}
inline output sqrt(const output &x, here at = here::now())
{
    return detail::unary(::braid_sqrt, x, at);
}
inline output exp(const output &x, here at = here::now())
{
    return detail::unary(::braid_exp, x, at);
}
inline output log(const output &x, here at = here::now())
{
    return detail::unary(::braid_log, x, at);
}
inline output round(const output &x, here at = here::now())
{
    return detail::unary(::braid_round, x, at);
}
inline output relu(const output &x, here at = here::now())
{
    return detail::unary(::braid_relu, x, at);
}
inline output sigmoid(const output &x, here at = here::now())
{
    return detail::unary(::braid_sigmoid, x, at);
}
inline output tanh(const output &x, here at = here::now())
{
    return detail::unary(::braid_tanh, x, at);
}
/// Over the last dimension of [batch, classes].
inline output softmax(const output &x, here at = here::now())
{
    return detail::unary(::braid_softmax, x, at);
}
/// The sum and the mean of all elements.
inline output reduce_sum(const output &x, here at = here::now())
{
    return detail::unary(::braid_reduce_sum, x, at);
}
inline output reduce_mean(const output &x, here at = here::now())
{
    return detail::unary(::braid_reduce_mean, x, at);
}
/// [batch, all other dimensions].
inline output flatten(const output &x, here at = here::now())
{
    return detail::unary(::braid_flatten, x, at);
}
/// [m, k] times [k, n].
inline output matmul(const output &a, const output &b, here at = here::now())
{
    return detail::binary(::braid_matmul, a, b, at);
}
inline output maximum(const output &x, const output &y, here at = here::now())
{
    return detail::binary(::braid_maximum, x, y, at);
}
inline output minimum(const output &x, const output &y, here at = here::now())
{
    return detail::binary(::braid_minimum, x, y, at);
}
/// A bool for each element.
inline output equal(const output &x, const output &y, here at = here::now())
{
    return detail::binary(::braid_equal, x, y, at);
}
inline output not_equal(const output &x, const output &y, here at = here::now())
{
    return detail::binary(::braid_not_equal, x, y, at);
}
inline output bias_add(const output &x, const output &b, here at = here::now())
{
    return detail::binary(::braid_bias_add, x, b, at);
}
/// Losses of each element of `logits`, against probabilities.
inline output sigmoid_cross_entropy(const output &logits, const output &labels, here at = here::now())
{
    return detail::binary(::braid_sigmoid_cross_entropy, logits, labels, at);
}
/// Losses [batch], against probabilities [batch, classes].
inline output softmax_cross_entropy(const output &logits, const output &labels, here at = here::now())
{
    return detail::binary(::braid_softmax_cross_entropy, logits, labels, at);
}
/// Losses [batch], against class numbers [batch].
inline output sparse_softmax_cross_entropy(const output &logits, const output &labels, here at = here::now())
{
    return detail::binary(::braid_sparse_softmax_cross_entropy, logits, labels, at);
}
inline output gather(const output &params, const output &indices, here at = here::now())
{
    return detail::binary(::braid_gather, params, indices, at);
}
inline output embedding_lookup(const output &variable_ref, const output &ids, here at = here::now())
{
    return detail::binary(::braid_embedding_lookup, variable_ref, ids, at);
}
inline output dropout(const output &x, const output &keep_prob, here at = here::now())
{
    return detail::binary(::braid_dropout, x, keep_prob, at);
}
inline output assign(const output &ref, const output &value, here at = here::now())
{
    return detail::binary(::braid_assign, ref, value, at);
}
inline output assign_add(const output &ref, const output &value, here at = here::now())
{
    return detail::binary(::braid_assign_add, ref, value, at);
}
template <typename T> output cast(const output &x, here at = here::now())
{
    return detail::build(x.graph(), at, [&] { return ::braid_cast(x.graph(), x, dtype_of<T>()); });
}
inline output reshape(const output &x, const shape &s, here at = here::now())
{
    return detail::build(x.graph(), at, [&] { return ::braid_reshape(x.graph(), x, s); });
}
/// The index (int64) of the largest element along `axis`.
inline output argmax(const output &x, int axis, here at = here::now())
{
    return detail::build(x.graph(), at, [&] { return ::braid_argmax(x.graph(), x, axis); });
}
inline output clip_by_value(const output &x, double min, double max, here at = here::now())
{
    return detail::build(x.graph(), at, [&] { return ::braid_clip_by_value(x.graph(), x, min, max); });
}
/// A node that is done when all of `ops` are.
inline operation group(std::initializer_list<operation> ops, here at = here::now())
{
    const std::vector<braid_op *> raw(ops.begin(), ops.end());
    braid_graph *g = raw.empty() || !raw[0] ? nullptr : ::braid_op_graph(raw[0]);
    return detail::build(g, at,
                         [&] { return ::braid_group(g, nullptr, raw.data(), static_cast<int>(raw.size())); });
}
/// The derivatives of the sum of `ys` by each of `xs`; no output where no path leads to it.
inline std::vector<output> gradients(std::initializer_list<output> ys, std::initializer_list<output> xs,
                                     here at = here::now())
{
    const std::vector<braid_out> y(ys.begin(), ys.end()), x(xs.begin(), xs.end());
    std::vector<braid_out> made(x.size());
    braid_graph *g = ys.size() ? ys.begin()->graph() : nullptr;
    detail::build(g, at, [&] {
        ::braid_gradients(g, y.data(), static_cast<int>(y.size()), x.data(), static_cast<int>(x.size()),
                          nullptr, made.data());
    });
    return {made.begin(), made.end()};
}

inline output max_pool(const output &x, int size, int stride, braid_padding padding = BRAID_SAME,
                       here at = here::now())
{
    return detail::build(x.graph(), at,
                         [&] { return ::braid_max_pool(x.graph(), x, size, stride, padding); });
}

} // namespace braid
#endif
