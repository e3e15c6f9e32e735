// Optimizers for C++ (C++17, over optimizers.h, clip.h, learning_rate_decay.h and moving_average.h, which
// describe them). Include braid.hpp.
//
//     auto opt = braid::adam(g);
//     opt.learning_rate(braid::exponential_decay(0.1f, g.global_step(), 100, 0.9f));
//     auto gradients = opt.compute_gradients(loss);
//     braid::clip_gradients(gradients, 5);
//     auto train = opt.apply_gradients(gradients);
#ifndef BRAID_OPTIMIZERS_HPP
#define BRAID_OPTIMIZERS_HPP

#include <braid/clip.h>
#include <braid/graph.hpp>
#include <braid/learning_rate_decay.h>
#include <braid/moving_average.h>
#include <braid/optimizers.h>

namespace braid
{

// ---- Optimizers ----

/// The gradient of a loss by a variable. With `indices` it is that of the rows that they name.
struct grad_and_var {
    output grad; ///< none: the loss does not depend on the variable
    output var;  ///< the `ref` of a variable
    output indices, dense_shape;
    grad_and_var(const output &gradient, const output &variable) : grad(gradient), var(variable) {}
    grad_and_var(const braid_grad_and_var &raw)
        : grad(raw.grad), var(raw.var), indices(raw.indices), dense_shape(raw.dense_shape)
    {
    }
    operator braid_grad_and_var() const
    {
        return {grad, var, indices, dense_shape};
    }
};
using grads_and_vars = std::vector<grad_and_var>;

/// An optimizer, which belongs to its graph: gradient_descent(g, 0.1f).minimize(loss).
class optimizer
{
  public:
    /// Takes one of the C interface: optimizer(braid_adam_with(g, &options)).
    explicit optimizer(braid_optimizer *raw) : raw_(raw) {}
    operator braid_optimizer *() const
    {
        return raw_;
    }
    /// Builds a step that also counts the graph's global step up.
    operation minimize(const output &loss, here at = here::now())
    {
        return detail::build(loss.graph(), at,
                             [&] { return ::braid_minimize(raw_, loss, ::braid_global_step(loss.graph())); });
    }
    /// The gradients of `loss` by `vars`; none: by all trainable variables.
    grads_and_vars compute_gradients(const output &loss, const outputs &vars = {}, here at = here::now())
    {
        const std::vector<braid_out> raw = detail::raw_outs(vars);
        int count = 0;
        const braid_grad_and_var *made = detail::build(loss.graph(), at, [&] {
            return ::braid_compute_gradients(raw_, loss, raw.empty() ? nullptr : raw.data(),
                                             detail::count_of(raw), &count);
        });
        return {made, made + count};
    }
    /// Builds a step of gradients, which also counts the graph's global step up.
    operation apply_gradients(const grads_and_vars &gradients, here at = here::now())
    {
        const std::vector<braid_grad_and_var> raw(gradients.begin(), gradients.end());
        braid_graph *g = ::braid_optimizer_graph(raw_);
        return detail::build(g, at, [&] {
            return ::braid_apply_gradients(raw_, raw.data(), detail::count_of(raw), ::braid_global_step(g));
        });
    }
    /// Places gradients with the nodes that they differentiate (braid_optimizer_colocate_gradients).
    optimizer &colocate_gradients(bool colocate = true)
    {
        ::braid_optimizer_colocate_gradients(raw_, colocate);
        return *this;
    }
    /// Takes the rate from a scalar, such as a decay; before its updates are built.
    optimizer &learning_rate(const output &rate)
    {
        ::braid_optimizer_set_learning_rate(raw_, rate);
        return *this;
    }
    /// The slot variable ("m", "momentum", ...) of a variable; no output when there is none.
    output slot(const variable &v, const char *name) const
    {
        return ::braid_optimizer_slot(raw_, v.ref, name);
    }

  private:
    braid_optimizer *raw_;
};

namespace detail
{

template <typename Options>
optimizer make_optimizer(braid_optimizer *(*fn)(braid_graph *, const Options *), braid_graph *g,
                         const Options &options, here at)
{
    return optimizer(build(g, at, [&] { return fn(g, &options); }));
}

inline optimizer make_optimizer(braid_optimizer *(*fn)(braid_graph *, float), braid_graph *g,
                                float learning_rate, here at)
{
    return optimizer(build(g, at, [&] { return fn(g, learning_rate); }));
}

} // namespace detail

inline optimizer gradient_descent(braid_graph *g, float learning_rate, here at = here::now())
{
    return detail::make_optimizer(::braid_gradient_descent, g, learning_rate, at);
}
inline optimizer momentum(braid_graph *g, float learning_rate, float momentum, here at = here::now())
{
    return optimizer(detail::build(g, at, [&] { return ::braid_momentum(g, learning_rate, momentum); }));
}
inline optimizer momentum(braid_graph *g, const braid_momentum_options &options, here at = here::now())
{
    return detail::make_optimizer(::braid_momentum_with, g, options, at);
}
inline optimizer adam(braid_graph *g, float learning_rate = 0.001F, here at = here::now())
{
    return detail::make_optimizer(::braid_adam, g, learning_rate, at);
}
/// Options begin as braid_adam_defaults(); those of the others likewise.
inline optimizer adam(braid_graph *g, const braid_adam_options &options, here at = here::now())
{
    return detail::make_optimizer(::braid_adam_with, g, options, at);
}
inline optimizer adamax(braid_graph *g, float learning_rate = 0.001F, here at = here::now())
{
    return detail::make_optimizer(::braid_adamax, g, learning_rate, at);
}
inline optimizer adamax(braid_graph *g, const braid_adam_options &options, here at = here::now())
{
    return detail::make_optimizer(::braid_adamax_with, g, options, at);
}
inline optimizer adagrad(braid_graph *g, float learning_rate, here at = here::now())
{
    return detail::make_optimizer(::braid_adagrad, g, learning_rate, at);
}
inline optimizer adagrad(braid_graph *g, const braid_adagrad_options &options, here at = here::now())
{
    return detail::make_optimizer(::braid_adagrad_with, g, options, at);
}
inline optimizer adadelta(braid_graph *g, float learning_rate = 0.001F, here at = here::now())
{
    return detail::make_optimizer(::braid_adadelta, g, learning_rate, at);
}
inline optimizer adadelta(braid_graph *g, const braid_adadelta_options &options, here at = here::now())
{
    return detail::make_optimizer(::braid_adadelta_with, g, options, at);
}
inline optimizer rmsprop(braid_graph *g, float learning_rate, here at = here::now())
{
    return detail::make_optimizer(::braid_rmsprop, g, learning_rate, at);
}
inline optimizer rmsprop(braid_graph *g, const braid_rmsprop_options &options, here at = here::now())
{
    return detail::make_optimizer(::braid_rmsprop_with, g, options, at);
}
inline optimizer ftrl(braid_graph *g, float learning_rate, here at = here::now())
{
    return detail::make_optimizer(::braid_ftrl, g, learning_rate, at);
}
inline optimizer ftrl(braid_graph *g, const braid_ftrl_options &options, here at = here::now())
{
    return detail::make_optimizer(::braid_ftrl_with, g, options, at);
}
inline optimizer proximal_gradient_descent(braid_graph *g, const braid_proximal_options &options,
                                           here at = here::now())
{
    return detail::make_optimizer(::braid_proximal_gradient_descent, g, options, at);
}
inline optimizer proximal_adagrad(braid_graph *g, const braid_proximal_options &options,
                                  here at = here::now())
{
    return detail::make_optimizer(::braid_proximal_adagrad, g, options, at);
}
/// Training must count the graph's global step up.
inline optimizer adagrad_da(braid_graph *g, const braid_proximal_options &options, here at = here::now())
{
    return optimizer(
        detail::build(g, at, [&] { return ::braid_adagrad_da(g, ::braid_global_step(g), &options); }));
}

// ---- Clipping: the Euclidean norm becomes `clip_norm` at most ----

inline output clip_by_norm(const output &x, double clip_norm, here at = here::now())
{
    return detail::build(x.graph(), at, [&] { return ::braid_clip_by_norm(x.graph(), x, clip_norm); });
}
/// The norm divided by the number of elements.
inline output clip_by_average_norm(const output &x, double clip_norm, here at = here::now())
{
    return detail::build(x.graph(), at,
                         [&] { return ::braid_clip_by_average_norm(x.graph(), x, clip_norm); });
}
/// Of all `xs` taken together.
inline output global_norm(const outputs &xs, here at = here::now())
{
    const std::vector<braid_out> raw = detail::raw_outs(xs);
    braid_graph *g = detail::graph_of(xs);
    return detail::build(g, at, [&] { return ::braid_global_norm(g, raw.data(), detail::count_of(raw)); });
}
/// Scales `xs` by one factor, in place. Returns the norm before: `use_norm`, or else their global norm.
inline output clip_by_global_norm(outputs &xs, double clip_norm, const output &use_norm = {},
                                  here at = here::now())
{
    std::vector<braid_out> raw = detail::raw_outs(xs);
    braid_graph *g = detail::graph_of(xs);
    const output norm = detail::build(g, at, [&] {
        return ::braid_clip_by_global_norm(g, raw.data(), detail::count_of(raw), clip_norm, use_norm,
                                           raw.data());
    });
    xs.assign(raw.begin(), raw.end());
    return norm;
}
/// The same of gradients.
inline output clip_gradients(grads_and_vars &gradients, double clip_norm, here at = here::now())
{
    std::vector<braid_grad_and_var> raw(gradients.begin(), gradients.end());
    braid_graph *g = raw.empty() ? nullptr : output(raw[0].var).graph();
    const output norm = detail::build(
        g, at, [&] { return ::braid_clip_gradients(g, raw.data(), detail::count_of(raw), clip_norm); });
    gradients.assign(raw.begin(), raw.end());
    return norm;
}

// ---- Learning rates that change with the global step ----

inline output exponential_decay(float learning_rate, const output &step, int64_t decay_steps,
                                float decay_rate, bool staircase = false, here at = here::now())
{
    braid_graph *g = step.graph();
    return detail::build(g, at, [&] {
        return ::braid_exponential_decay(g, learning_rate, step, decay_steps, decay_rate, staircase);
    });
}
inline output natural_exp_decay(float learning_rate, const output &step, int64_t decay_steps,
                                float decay_rate, bool staircase = false, here at = here::now())
{
    braid_graph *g = step.graph();
    return detail::build(g, at, [&] {
        return ::braid_natural_exp_decay(g, learning_rate, step, decay_steps, decay_rate, staircase);
    });
}
inline output inverse_time_decay(float learning_rate, const output &step, int64_t decay_steps,
                                 float decay_rate, bool staircase = false, here at = here::now())
{
    braid_graph *g = step.graph();
    return detail::build(g, at, [&] {
        return ::braid_inverse_time_decay(g, learning_rate, step, decay_steps, decay_rate, staircase);
    });
}
inline output polynomial_decay(float learning_rate, const output &step, int64_t decay_steps,
                               float end_learning_rate = 0.0001F, float power = 1, bool cycle = false,
                               here at = here::now())
{
    braid_graph *g = step.graph();
    return detail::build(g, at, [&] {
        return ::braid_polynomial_decay(g, learning_rate, step, decay_steps, end_learning_rate, power, cycle);
    });
}
inline output cosine_decay(float learning_rate, const output &step, int64_t decay_steps, float alpha = 0,
                           here at = here::now())
{
    braid_graph *g = step.graph();
    return detail::build(g, at,
                         [&] { return ::braid_cosine_decay(g, learning_rate, step, decay_steps, alpha); });
}
inline output cosine_decay_restarts(float learning_rate, const output &step, int64_t first_decay_steps,
                                    float t_mul = 2, float m_mul = 1, float alpha = 0, here at = here::now())
{
    braid_graph *g = step.graph();
    return detail::build(g, at, [&] {
        return ::braid_cosine_decay_restarts(g, learning_rate, step, first_decay_steps, t_mul, m_mul, alpha);
    });
}
inline output linear_cosine_decay(float learning_rate, const output &step, int64_t decay_steps,
                                  float num_periods = 0.5F, float alpha = 0, float beta = 0.001F,
                                  here at = here::now())
{
    braid_graph *g = step.graph();
    return detail::build(g, at, [&] {
        return ::braid_linear_cosine_decay(g, learning_rate, step, decay_steps, num_periods, alpha, beta);
    });
}
inline output noisy_linear_cosine_decay(float learning_rate, const output &step, int64_t decay_steps,
                                        const braid_noisy_linear_cosine_options &options = {},
                                        here at = here::now())
{
    braid_graph *g = step.graph();
    return detail::build(g, at, [&] {
        return ::braid_noisy_linear_cosine_decay(g, learning_rate, step, decay_steps, &options);
    });
}
/// values[0] up to and including step boundaries[0], and so on: there is one value more than boundaries.
inline output piecewise_constant(const output &step, const std::vector<int64_t> &boundaries,
                                 const std::vector<float> &values, here at = here::now())
{
    if (values.size() != boundaries.size() + 1)
        throw error(BRAID_INVALID_ARGUMENT,
                    "piecewise_constant: there must be one value more than boundaries");
    braid_graph *g = step.graph();
    return detail::build(g, at, [&] {
        return ::braid_piecewise_constant(g, step, boundaries.data(), values.data(),
                                          detail::count_of(boundaries));
    });
}

// ---- Moving averages ----

/// Exponential moving averages of variables and other values; belongs to the graph.
class moving_average
{
  public:
    moving_average(braid_graph *g, float decay, here at = here::now())
        : moving_average(g, with_decay(decay), at)
    {
    }
    moving_average(braid_graph *g, const braid_moving_average_options &options, here at = here::now())
        : g_(g), raw_(detail::build(g, at, [&] { return ::braid_moving_average_new(g, &options); }))
    {
    }
    operator braid_moving_average *() const
    {
        return raw_;
    }
    /// The node that updates the averages of `xs`, variables (`ref`) or other values; none: of all trainable
    /// variables. Within a control_scope it reads them after the scope's nodes have run.
    operation apply(const outputs &xs = {}, here at = here::now())
    {
        const std::vector<braid_out> raw = detail::raw_outs(xs);
        return detail::build(g_, at, [&] {
            return ::braid_moving_average_apply(raw_, raw.empty() ? nullptr : raw.data(),
                                                detail::count_of(raw));
        });
    }
    /// The variable that holds the average; its outputs are none when there is no such average.
    variable average(const output &x) const
    {
        return ::braid_moving_average_of(raw_, x);
    }
    /// Its name in checkpoints.
    std::string name(const output &x) const
    {
        return ::braid_moving_average_name(raw_, x);
    }

  private:
    static braid_moving_average_options with_decay(float decay)
    {
        braid_moving_average_options options{};
        options.decay = decay;
        return options;
    }
    braid_graph *g_;
    braid_moving_average *raw_;
};

} // namespace braid
#endif
