// Synchronous replicas and work queues for C++ (C++17, over sync_replicas.h and work_queue.h, which describe
// them). Include braid.hpp.
//
//     braid::sync_replicas sync(braid::adagrad(g, 0.1f), 2);
//     auto train = sync.minimize(loss);
//     braid::monitored_session s(g, config, {sync.hook(is_chief), braid_stop_at_step(1000)});
#ifndef BRAID_REPLICAS_HPP
#define BRAID_REPLICAS_HPP

#include <braid/input.hpp>
#include <braid/optimizers.hpp>
#include <braid/sync_replicas.h>
#include <braid/work_queue.h>

namespace braid
{

/// An optimizer of which each update is the mean of the gradients of several replicas; belongs to the graph.
class sync_replicas
{
  public:
    sync_replicas(const optimizer &opt, int replicas_to_aggregate, here at = here::now())
        : sync_replicas(opt, with_replicas(replicas_to_aggregate), at)
    {
    }
    sync_replicas(const optimizer &opt, const braid_sync_replicas_options &options, here at = here::now())
        : g_(::braid_optimizer_graph(opt)),
          raw_(detail::build(g_, at, [&] { return ::braid_sync_replicas_new(opt, &options); }))
    {
    }
    operator braid_sync_replicas *() const
    {
        return raw_;
    }
    /// Builds the training step of a replica. The graph's global step counts updates.
    operation minimize(const output &loss, here at = here::now())
    {
        return detail::build(
            g_, at, [&] { return ::braid_sync_replicas_minimize(raw_, loss, ::braid_global_step(g_)); });
    }
    operation apply_gradients(const grads_and_vars &gradients, here at = here::now())
    {
        const std::vector<braid_grad_and_var> raw(gradients.begin(), gradients.end());
        return detail::build(g_, at, [&] {
            return ::braid_sync_replicas_apply(raw_, raw.data(), detail::count_of(raw),
                                               ::braid_global_step(g_));
        });
    }
    /// How many gradients came too late, an int32 scalar; after the training step is built.
    output num_stale(here at = here::now())
    {
        return detail::build(g_, at, [&] { return ::braid_sync_replicas_num_stale(raw_); });
    }
    /// The hook that the monitored session of each replica needs. `num_tokens` -1: as in TensorFlow.
    braid_hook *hook(bool is_chief, int num_tokens = -1, here at = here::now())
    {
        return detail::build(g_, at, [&] { return ::braid_sync_replicas_hook(raw_, is_chief, num_tokens); });
    }

  private:
    static braid_sync_replicas_options with_replicas(int replicas_to_aggregate)
    {
        braid_sync_replicas_options options{};
        options.replicas_to_aggregate = replicas_to_aggregate;
        return options;
    }
    braid_graph *g_;
    braid_sync_replicas *raw_;
};

/// Shares of an input, such as names of files, which are handed out to the workers; belongs to the graph.
class work_queue
{
  public:
    work_queue(braid_graph *g, const std::vector<std::string> &shares,
               const braid_work_queue_options &options = {}, here at = here::now())
        : g_(g)
    {
        std::vector<const char *> names;
        for (const std::string &share : shares)
            names.push_back(share.c_str());
        raw_ = detail::build(g, at, [&] {
            return ::braid_work_queue_new(g, names.data(), static_cast<int64_t>(names.size()), &options);
        });
    }
    operator braid_work_queue *() const
    {
        return raw_;
    }
    /// The share that this worker has, a string scalar, and its number: inputs of the dataset of `hook`.
    output share() const
    {
        return ::braid_work_queue_share(raw_);
    }
    output number() const
    {
        return ::braid_work_queue_number(raw_);
    }
    /// How many times each share was finished.
    output finished() const
    {
        return ::braid_work_queue_finished(raw_);
    }
    /// The hook that takes shares, and sets the iterator to the beginning of each.
    braid_hook *hook(const iterator &it, here at = here::now())
    {
        return detail::build(g_, at, [&] { return ::braid_work_queue_hook(raw_, it); });
    }

  private:
    braid_graph *g_;
    braid_work_queue *raw_;
};

} // namespace braid
#endif
