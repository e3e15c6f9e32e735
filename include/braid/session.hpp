// Sessions, servers and clusters for C++ (C++17, over session.h, server.h and cluster.h). Include braid.hpp.
//
// Errors are thrown as braid::error.
#ifndef BRAID_SESSION_HPP
#define BRAID_SESSION_HPP

#include <braid/device_setter.h>
#include <braid/graph.hpp>
#include <braid/owned.hpp>
#include <braid/server.h>
#include <braid/session.h>

namespace braid
{

/// A value for a placeholder: {x, images}. The tensor is shared, not copied.
struct feed {
    output out;
    tensor value;
    feed(const output &o, const tensor &v) : out(o), value(v) {}
};
using feeds = std::vector<feed>;

namespace detail
{

inline std::vector<braid_feed> raw_feeds(const feeds &given)
{
    std::vector<braid_feed> raw;
    for (const feed &f : given)
        raw.push_back({f.out, f.value.get()});
    return raw;
}

/// The places where a call stores fetched tensors.
class fetched
{
  public:
    explicit fetched(const std::vector<output> &outs) : values_(outs.size())
    {
        for (size_t i = 0; i < outs.size(); i++)
            raw.push_back({outs[i], &values_[i]});
    }
    fetched(const fetched &) = delete;
    fetched &operator=(const fetched &) = delete;
    std::vector<tensor> take() const
    {
        std::vector<tensor> taken;
        for (braid_tensor *value : values_)
            taken.emplace_back(value);
        return taken;
    }
    std::vector<braid_fetch> raw;

  private:
    std::vector<braid_tensor *> values_;
};

} // namespace detail

/// The tasks of a cluster and their addresses.
class cluster
{
  public:
    static cluster from_hosts(const std::string &ps, const std::string &workers)
    {
        status st;
        return cluster(st.check(::braid_cluster_from_hosts(ps.c_str(), workers.c_str(), st)));
    }
    static cluster from_json(const std::string &json)
    {
        status st;
        return cluster(st.check(::braid_cluster_from_json(json.c_str(), st)));
    }
    /// From the environment: TF_CONFIG, or what srun or mpirun set (braid_cluster_from_env).
    static cluster from_env()
    {
        status st;
        return cluster(st.check(::braid_cluster_from_env(st)));
    }
    operator const braid_cluster *() const
    {
        return raw_.get();
    }
    int num_tasks(const char *job) const
    {
        return ::braid_cluster_num_tasks(raw_.get(), job);
    }
    std::string this_job() const
    {
        const char *job = ::braid_cluster_this_job(raw_.get());
        return job ? job : "";
    }
    int this_task() const
    {
        return ::braid_cluster_this_task(raw_.get());
    }

  private:
    explicit cluster(braid_cluster *raw) : raw_(raw) {}
    detail::owned<braid_cluster, ::braid_cluster_free> raw_;
};

/// Variables lie on the parameter servers in turn and other nodes on this worker, until the end of the block
/// (tf.train.replica_device_setter).
class replica_device_scope
{
  public:
    replica_device_scope(braid_graph *g, const cluster &c, const braid_device_setter_options &options = {},
                         here at = here::now())
        : g_(g)
    {
        detail::build(g, at,
                      [&] { ::braid_push_device_setter(g, ::braid_replica_device_setter(g, c, &options)); });
    }
    ~replica_device_scope()
    {
        ::braid_pop_device(g_);
    }
    replica_device_scope(const replica_device_scope &) = delete;
    replica_device_scope &operator=(const replica_device_scope &) = delete;

  private:
    braid_graph *g_;
};

/// One task of a cluster, in this process. Its end says that the work is done (braid_server_free).
class server
{
  public:
    server(const cluster &c, const char *job, int index, const braid_server_options &options = {})
    {
        status st;
        raw_ = decltype(raw_)(st.check(::braid_server_start(c, job, index, &options, st)));
    }
    /// A cluster of one task, on a free port.
    static server local(const braid_server_options &options = {})
    {
        status st;
        return server(st.check(::braid_server_start_local(&options, st)));
    }
    operator braid_server *() const
    {
        return raw_.get();
    }
    /// Adds a directory to those whose files graphs may use on this server.
    void allow_files(const std::string &dir)
    {
        status st;
        ::braid_server_allow_files(raw_.get(), dir.c_str(), st);
        st.check();
    }
    std::string target() const
    {
        return ::braid_server_target(raw_.get());
    }
    /// Blocks until the work of the cluster is done.
    void join()
    {
        status st;
        ::braid_server_join(raw_.get(), st);
        st.check();
    }
    void stop(int64_t grace_ms)
    {
        ::braid_server_stop(raw_.get(), grace_ms);
    }

  private:
    explicit server(braid_server *raw) : raw_(raw) {}
    detail::owned<braid_server, ::braid_server_free> raw_;
};

/// A session that belongs to another object: a session, a supervisor or a monitored session.
class session_ref
{
  public:
    session_ref(braid_session *raw) : raw_(raw) {}
    operator braid_session *() const
    {
        return raw_;
    }
    /// Runs a step and returns the values of `fetches`: s.run({{x, images}}, {loss}).
    std::vector<tensor> run(const feeds &given, const std::vector<output> &fetches,
                            const std::vector<operation> &targets = {})
    {
        const std::vector<braid_feed> fed = detail::raw_feeds(given);
        const std::vector<braid_op *> ops(targets.begin(), targets.end());
        detail::fetched values(fetches);
        braid_run_args args{};
        args.feeds = fed.data();
        args.feed_count = static_cast<int>(fed.size());
        args.fetches = values.raw.data();
        args.fetch_count = static_cast<int>(values.raw.size());
        args.targets = ops.data();
        args.target_count = static_cast<int>(ops.size());
        status st;
        ::braid_session_run(raw_, &args, st);
        st.check();
        return values.take();
    }
    /// The value of one output.
    tensor run(const output &fetch, const feeds &given = {})
    {
        return run(given, {fetch}, {}).at(0);
    }
    /// Runs nodes without a value: s.run(train, {{x, images}}).
    void run(const operation &target, const feeds &given = {})
    {
        run(given, {}, {target});
    }
    /// Ends all calls in progress, and later ones, with Cancelled.
    void cancel()
    {
        ::braid_session_cancel(raw_);
    }

  protected:
    braid_session *raw_;
};

/// A session on a graph, which must outlive it.
class session : public session_ref
{
  public:
    explicit session(braid_graph *graph, const braid_session_options &options = {})
        : session_ref(open(graph, options))
    {
    }
    /// On the master of another server: "grpc://host:port".
    session(braid_graph *graph, const std::string &target) : session(graph, to(target)) {}
    /// Takes a session of the C interface.
    explicit session(braid_session *taken) : session_ref(taken) {}
    session(session &&other) noexcept : session_ref(other.release()) {}
    session &operator=(session &&other) noexcept
    {
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~session()
    {
        ::braid_session_close(raw_, nullptr);
    }
    void close()
    {
        status st;
        ::braid_session_close(release(), st);
        st.check();
    }
    /// Gives the session to the C interface.
    braid_session *release()
    {
        return std::exchange(raw_, nullptr);
    }

  private:
    static braid_session *open(braid_graph *graph, const braid_session_options &options)
    {
        status st;
        return st.check(::braid_session_open(graph, &options, st));
    }
    static braid_session_options to(const std::string &target)
    {
        braid_session_options options{};
        options.target = target.c_str();
        return options;
    }
};

} // namespace braid
#endif
