// Layers for C++ (C++17, over layers.h, which describes them). Include braid.hpp.
//
//     auto h = braid::layers::conv2d(images, 32, 3, braid_relu);
//     h = braid::layers::max_pooling2d(h, 2);
//     auto logits = braid::layers::dense(braid::layers::flatten(h), 10);
//
// Options are those of the C interface. C++20 can write them in place: {.same_padding = true}.
#ifndef BRAID_LAYERS_HPP
#define BRAID_LAYERS_HPP

#include <braid/layers.h>
#include <braid/ops.hpp>

namespace braid
{

// ---- Simple forms ----

inline output dense(const output &x, int64_t units, const char *name = nullptr, here at = here::now())
{
    return detail::build(x.graph(), at, [&] { return ::braid_dense(x.graph(), name, x, units); });
}
inline output conv2d_layer(const output &x, int64_t filters, int kernel_size, int stride = 1,
                           braid_padding padding = BRAID_SAME, const char *name = nullptr,
                           here at = here::now())
{
    return detail::build(x.graph(), at, [&] {
        return ::braid_conv2d_layer(x.graph(), name, x, filters, kernel_size, stride, padding);
    });
}

/// Nodes wait for the ops that update the moving averages of batch normalization, until the end of the block:
/// {braid::update_ops_scope after(g); train = opt.minimize(loss);}
class update_ops_scope
{
  public:
    explicit update_ops_scope(braid_graph *g) : g_(g)
    {
        ::braid_push_update_ops(g);
    }
    ~update_ops_scope()
    {
        ::braid_pop_control(g_);
    }
    update_ops_scope(const update_ops_scope &) = delete;
    update_ops_scope &operator=(const update_ops_scope &) = delete;

  private:
    braid_graph *g_;
};

namespace detail
{

using pooling_fn = braid_out (*)(braid_graph *, braid_out, const braid_pooling_options *);

inline output pool(pooling_fn fn, const output &x, int height, int width, braid_pooling_options options,
                   here at)
{
    options.pool_size[0] = height;
    options.pool_size[1] = width;
    return build(x.graph(), at, [&] { return fn(x.graph(), x, &options); });
}

} // namespace detail

namespace layers
{

/// Height and width of a kernel or a window: 3, or {3, 5}.
struct extent {
    int height, width;
    extent(int both) : height(both), width(both) {}
    extent(int h, int w) : height(h), width(w) {}
};

// ---- Layers with a kernel ----

/// [..., in] becomes [..., units].
inline output dense(const output &x, int64_t units, const braid_layer_options &options = {},
                    here at = here::now())
{
    return detail::build(x.graph(), at, [&] { return ::braid_layers_dense(x.graph(), x, units, &options); });
}
inline output dense(const output &x, int64_t units, braid_activation activation, here at = here::now())
{
    braid_layer_options options{};
    options.activation = activation;
    return dense(x, units, options, at);
}

/// Sequences [batch, length, in].
inline output conv1d(const output &x, int64_t filters, int kernel_size,
                     const braid_conv_options &options = {}, here at = here::now())
{
    return detail::build(x.graph(), at,
                         [&] { return ::braid_layers_conv1d(x.graph(), x, filters, kernel_size, &options); });
}

/// Images [batch, height, width, in].
inline output conv2d(const output &x, int64_t filters, extent kernel, const braid_conv_options &options = {},
                     here at = here::now())
{
    return detail::build(x.graph(), at, [&] {
        return ::braid_layers_conv2d(x.graph(), x, filters, kernel.height, kernel.width, &options);
    });
}
inline output conv2d(const output &x, int64_t filters, extent kernel, braid_activation activation,
                     here at = here::now())
{
    braid_conv_options options{};
    options.layer.activation = activation;
    return conv2d(x, filters, kernel, options, at);
}

/// Enlarges images by the strides.
inline output conv2d_transpose(const output &x, int64_t filters, extent kernel,
                               const braid_conv_options &options = {}, here at = here::now())
{
    return detail::build(x.graph(), at, [&] {
        return ::braid_layers_conv2d_transpose(x.graph(), x, filters, kernel.height, kernel.width, &options);
    });
}

inline output separable_conv2d(const output &x, int64_t filters, extent kernel,
                               const braid_separable_conv_options &options = {}, here at = here::now())
{
    return detail::build(x.graph(), at, [&] {
        return ::braid_layers_separable_conv2d(x.graph(), x, filters, kernel.height, kernel.width, &options);
    });
}

// ---- Pooling: windows of `size`, which move by their size unless the options have strides ----

inline output max_pooling2d(const output &x, extent size, const braid_pooling_options &options = {},
                            here at = here::now())
{
    return detail::pool(::braid_layers_max_pooling2d, x, size.height, size.width, options, at);
}
inline output average_pooling2d(const output &x, extent size, const braid_pooling_options &options = {},
                                here at = here::now())
{
    return detail::pool(::braid_layers_average_pooling2d, x, size.height, size.width, options, at);
}
inline output max_pooling1d(const output &x, int size, const braid_pooling_options &options = {},
                            here at = here::now())
{
    return detail::pool(::braid_layers_max_pooling1d, x, size, 0, options, at);
}
inline output average_pooling1d(const output &x, int size, const braid_pooling_options &options = {},
                                here at = here::now())
{
    return detail::pool(::braid_layers_average_pooling1d, x, size, 0, options, at);
}

// ---- Shapes, dropout and normalization ----

/// [batch, all other dimensions], which may be unknown.
inline output flatten(const output &x, const char *name = nullptr, here at = here::now())
{
    return detail::build(x.graph(), at, [&] { return ::braid_layers_flatten(x.graph(), name, x); });
}

/// An identity unless the options say that this is training.
inline output dropout(const output &x, double rate = 0.5, const braid_layers_dropout_options &options = {},
                      here at = here::now())
{
    return detail::build(x.graph(), at, [&] { return ::braid_layers_dropout(x.graph(), x, rate, &options); });
}
/// `is_training` is a bool scalar that decides in each run.
inline output dropout(const output &x, double rate, const output &is_training, here at = here::now())
{
    braid_layers_dropout_options options{};
    options.is_training = is_training;
    return dropout(x, rate, options, at);
}

/// Training needs an update_ops_scope.
inline output batch_normalization(const output &x, const braid_batch_normalization_options &options = {},
                                  here at = here::now())
{
    return detail::build(x.graph(), at,
                         [&] { return ::braid_layers_batch_normalization(x.graph(), x, &options); });
}
/// `is_training` is a bool scalar that decides in each run.
inline output batch_normalization(const output &x, const output &is_training, here at = here::now())
{
    braid_batch_normalization_options options{};
    options.is_training = is_training;
    return batch_normalization(x, options, at);
}

} // namespace layers
} // namespace braid
#endif
