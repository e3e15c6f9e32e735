// Variables for C++ (C++17, over initializers.h, variable_scope.h and init_from_checkpoint.h, which describe
// them). Include braid.hpp.
//
//     braid::variable_scope scope(g, "layer1");
//     auto w = g.get_variable<float>("w", {784, 10}, braid::initializers::glorot_uniform()); // "layer1/w"
#ifndef BRAID_VARIABLES_HPP
#define BRAID_VARIABLES_HPP

#include <braid/graph.hpp>
#include <braid/init_from_checkpoint.h>
#include <braid/initializers.h>
#include <braid/variable_scope.h>

#include <memory>

namespace braid
{

// ---- First values ----

namespace initializers
{

inline braid_initializer zeros()
{
    return ::braid_zeros_initializer();
}
inline braid_initializer ones()
{
    return ::braid_ones_initializer();
}
inline braid_initializer constant(float value)
{
    return ::braid_constant_initializer(value);
}
inline braid_initializer random_uniform(float min = -0.05F, float max = 0.05F)
{
    return ::braid_random_uniform_initializer(min, max);
}
inline braid_initializer random_normal(float mean = 0, float stddev = 1)
{
    return ::braid_random_normal_initializer(mean, stddev);
}
/// Values two standard deviations or more from the mean are drawn again.
inline braid_initializer truncated_normal(float mean = 0, float stddev = 1)
{
    return ::braid_truncated_normal_initializer(mean, stddev);
}
/// Mean 0 and variance scale / fan.
inline braid_initializer variance_scaling(float scale = 1, braid_fan_mode mode = BRAID_FAN_IN,
                                          braid_distribution distribution = BRAID_TRUNCATED_NORMAL)
{
    return ::braid_variance_scaling_initializer(scale, mode, distribution);
}
inline braid_initializer glorot_uniform()
{
    return ::braid_glorot_uniform_initializer();
}
inline braid_initializer glorot_normal()
{
    return ::braid_glorot_normal_initializer();
}
inline braid_initializer he_uniform()
{
    return ::braid_he_uniform_initializer();
}
inline braid_initializer he_normal()
{
    return ::braid_he_normal_initializer();
}
inline braid_initializer lecun_uniform()
{
    return ::braid_lecun_uniform_initializer();
}
inline braid_initializer lecun_normal()
{
    return ::braid_lecun_normal_initializer();
}
inline braid_initializer uniform_unit_scaling(float factor = 1)
{
    return ::braid_uniform_unit_scaling_initializer(factor);
}
/// A random matrix with orthonormal rows or columns.
inline braid_initializer orthogonal(float gain = 1)
{
    return ::braid_orthogonal_initializer(gain);
}
inline braid_initializer identity(float gain = 1)
{
    return ::braid_identity_initializer(gain);
}
/// The same values in each run.
inline braid_initializer seeded(const braid_initializer &initializer, int64_t seed)
{
    return ::braid_initializer_seeded(initializer, seed);
}

} // namespace initializers

// ---- Partitioners and regularizers ----

inline braid_partitioner fixed_size_partitioner(int64_t shards, int axis = 0)
{
    return ::braid_fixed_size_partitioner(shards, axis);
}
/// `max_shards` 0: no limit.
inline braid_partitioner variable_axis_size_partitioner(int64_t max_shard_bytes, int axis = 0,
                                                        int64_t max_shards = 0)
{
    return ::braid_variable_axis_size_partitioner(max_shard_bytes, axis, max_shards);
}
/// `min_slice_bytes` 0: 256 KiB.
inline braid_partitioner min_max_variable_partitioner(int64_t max_partitions, int axis = 0,
                                                      int64_t min_slice_bytes = 0)
{
    return ::braid_min_max_variable_partitioner(max_partitions, axis, min_slice_bytes);
}
inline braid_regularizer l1_regularizer(float scale)
{
    return ::braid_l1_regularizer(scale);
}
inline braid_regularizer l2_regularizer(float scale)
{
    return ::braid_l2_regularizer(scale);
}

// ---- Scopes and variables ----

/// Names and defaults of variables, until the end of the block. A name that ends in '/' is entered again.
class variable_scope
{
  public:
    variable_scope(braid_graph *g, const char *name, const braid_variable_scope_options &options = {},
                   here at = here::now())
        : g_(g), name_(detail::build(g, at, [&] { return ::braid_push_variable_scope(g, name, &options); }))
    {
    }
    ~variable_scope()
    {
        ::braid_pop_variable_scope(g_);
    }
    variable_scope(const variable_scope &) = delete;
    variable_scope &operator=(const variable_scope &) = delete;
    /// The full name, with '/' at its end.
    std::string name() const
    {
        return name_;
    }

  private:
    braid_graph *g_;
    const char *name_;
};

/// Makes a variable with all options, or returns the one that exists where it is reused.
inline variable get_variable(braid_graph *g, const char *name, const braid_variable_options &options,
                             here at = here::now())
{
    return detail::build(g, at, [&] { return ::braid_variable_get_with(g, name, &options); });
}
/// A variable whose first value is an output.
inline variable new_variable(const char *name, const output &initial_value, bool trainable = true,
                             here at = here::now())
{
    braid_graph *g = initial_value.graph();
    return detail::build(g, at, [&] { return ::braid_variable_new(g, name, initial_value, trainable); });
}
inline variable new_resource_variable(const char *name, const output &initial_value, bool trainable = true,
                                      here at = here::now())
{
    braid_graph *g = initial_value.graph();
    return detail::build(g, at, [&] { return ::braid_variable_resource(g, name, initial_value, trainable); });
}
/// The names of the variables that have no value yet.
inline output report_uninitialized_variables(braid_graph *g, here at = here::now())
{
    return detail::build(g, at, [&] { return ::braid_report_uninitialized_variables(g); });
}

// ---- First values from a checkpoint ----

/// A tensor of a checkpoint for a variable, or a scope of it, "a/", for a scope of variables.
struct checkpoint_assignment {
    std::string from, to;
    std::shared_ptr<const variable> target; ///< the variable in place of `to`
    checkpoint_assignment(std::string f, std::string t) : from(std::move(f)), to(std::move(t)) {}
    checkpoint_assignment(std::string f, const variable &v)
        : from(std::move(f)), target(std::make_shared<const variable>(v))
    {
    }
};

/// init_from_checkpoint(g, dir, {{"old/", "encoder/"}, {"embeddings", table}}): the node that initializes
/// variables, made after this, reads the checkpoint.
inline void init_from_checkpoint(braid_graph *g, const std::string &prefix_or_dir,
                                 const std::vector<checkpoint_assignment> &map, here at = here::now())
{
    std::vector<braid_checkpoint_assignment> raw;
    for (const checkpoint_assignment &a : map) {
        const braid_variable *v = nullptr;
        if (a.target) v = &static_cast<const braid_variable &>(*a.target);
        raw.push_back({a.from.c_str(), v ? nullptr : a.to.c_str(), v});
    }
    detail::build(g, at, [&] {
        ::braid_init_from_checkpoint(g, prefix_or_dir.c_str(), raw.data(), detail::count_of(raw));
    });
}

} // namespace braid
#endif
