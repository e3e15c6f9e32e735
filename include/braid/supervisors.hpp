// Scaffolds, session managers, session creators and supervisors for C++ (C++17, over the headers of these
// names, which describe them). Include braid.hpp.
//
//     braid_supervisor_options options{};
//     options.is_chief = true;
//     options.logdir = "/tmp/model";
//     braid::supervisor sv(g, options);
//     auto s = sv.managed_session();
//     while (!sv.should_stop())
//         s.run(train);
//     sv.close();
#ifndef BRAID_SUPERVISORS_HPP
#define BRAID_SUPERVISORS_HPP

#include <braid/coordinator.hpp>
#include <braid/scaffold.h>
#include <braid/session.hpp>
#include <braid/session_creator.h>
#include <braid/session_manager.h>
#include <braid/summaries.hpp>
#include <braid/supervisor.h>

namespace braid
{

// ---- Scaffolds ----

/// How variables and tables get their first values. Each empty member gets TensorFlow's default. It converts
/// to the scaffold of a configuration, and outlives the sessions that get it: config.scaffold = scaffold.
class scaffold
{
  public:
    scaffold() = default;
    scaffold(const scaffold &) = delete;
    scaffold &operator=(const scaffold &) = delete;

    operation init_op; ///< run by the chief unless the variables have values or are restored
    feeds init_feeds;
    /// Called after init_op, in the same cases.
    std::function<void(session_ref)> init_fn;
    output ready, ready_for_local_init; ///< names of what has no value yet
    operation local_init_op;            ///< run in each process
    feeds local_init_feeds;
    output summary;
    braid_saver *saver = nullptr;

    /// What the members are now.
    operator braid_scaffold()
    {
        braid_scaffold raw{};
        raw.init_op = init_op;
        raw.init_feeds = listed(init_feeds, raw_init_feeds_);
        raw.init_fn = init_fn ? initialize : nullptr;
        raw.init_arg = this;
        raw.ready = ready;
        raw.ready_for_local_init = ready_for_local_init;
        raw.local_init_op = local_init_op;
        raw.local_init_feeds = listed(local_init_feeds, raw_local_init_feeds_);
        raw.summary = summary;
        raw.saver = saver;
        return raw;
    }

  private:
    static const braid_feed *listed(const feeds &given, std::vector<braid_feed> &kept)
    {
        kept = detail::raw_feeds(given);
        kept.push_back({{nullptr, 0}, nullptr});
        return given.empty() ? nullptr : kept.data();
    }
    static braid_code initialize(const braid_scaffold *raw, braid_session *s, braid_status *st)
    {
        return detail::guarded(st, [&] { static_cast<scaffold *>(raw->init_arg)->init_fn(s); });
    }
    std::vector<braid_feed> raw_init_feeds_, raw_local_init_feeds_;
};

// ---- Sessions whose variables have values ----

/// Opens sessions for programs without a monitored session. The options' strings outlive it.
class session_manager
{
  public:
    explicit session_manager(braid_graph *g, const braid_session_manager &options = {}) : g_(g), raw_(options)
    {
    }
    /// The chief: gives the variables values, those of a checkpoint or the first ones.
    session prepare_session()
    {
        status st;
        return session(st.check(::braid_prepare_session(g_, &raw_, st)));
    }
    /// Another process: waits until the variables have values.
    session wait_for_session()
    {
        status st;
        return session(st.check(::braid_wait_for_session(g_, &raw_, st)));
    }
    /// A session, and whether its variables have values, perhaps those of the checkpoint.
    std::pair<session, bool> recover_session()
    {
        status st;
        bool is_ready = false;
        session s(st.check(::braid_recover_session(g_, &raw_, &is_ready, st)));
        return {std::move(s), is_ready};
    }

  private:
    braid_graph *g_;
    braid_session_manager raw_;
};

/// A creator of the C interface that another creator calls, and frees.
class inner_session_creator
{
  public:
    explicit inner_session_creator(braid_session_creator *taken) : raw_(taken) {}
    bool is_chief() const
    {
        return raw_.get()->is_chief;
    }
    void begin(braid_graph *g)
    {
        if (raw_.get()->begin) raw_.get()->begin(raw_.get(), g);
    }
    session create_session(braid_graph *g, braid_session_request *request)
    {
        status st;
        return session(st.check(raw_.get()->create_session(raw_.get(), g, request, st)));
    }

  private:
    static void end(braid_session_creator *creator)
    {
        if (creator->free) creator->free(creator);
    }
    detail::owned<braid_session_creator, end> raw_;
};

/// One's own creator of a monitored session's sessions: config.creator = make_session_creator<mine>(...).
class session_creator
{
  public:
    virtual ~session_creator() = default;
    virtual bool is_chief() const = 0;
    virtual void begin(braid_graph *) {}
    /// A session whose variables have values. `request` is for an inner_session_creator.
    virtual session create_session(braid_graph *g, braid_session_request *request) = 0;
};

namespace detail
{

/// The creator of the C interface that calls a session_creator.
struct session_creator_adapter {
    braid_session_creator raw; // the first member
    std::unique_ptr<session_creator> target;

    static braid_session_creator *make(std::unique_ptr<session_creator> c)
    {
        auto *made = new session_creator_adapter{{}, std::move(c)};
        made->raw.is_chief = made->target->is_chief();
        made->raw.begin = begin;
        made->raw.create_session = create_session;
        made->raw.free = free;
        return &made->raw;
    }

  private:
    static session_creator &of(braid_session_creator *c)
    {
        return *reinterpret_cast<session_creator_adapter *>(c)->target;
    }
    static void begin(braid_session_creator *c, braid_graph *g)
    {
        status st;
        if (guarded(st, [&] { of(c).begin(g); }))
            (::braid_graph_fail)(g, ::braid_status_code(st), "%s", ::braid_status_message(st));
    }
    static braid_session *create_session(braid_session_creator *c, braid_graph *g,
                                         braid_session_request *request, braid_status *st)
    {
        braid_session *made = nullptr;
        guarded(st, [&] { made = of(c).create_session(g, request).release(); });
        return made;
    }
    static void free(braid_session_creator *c)
    {
        delete reinterpret_cast<session_creator_adapter *>(c);
    }
};

} // namespace detail

template <typename Creator, typename... Args> braid_session_creator *make_session_creator(Args &&...args)
{
    return detail::session_creator_adapter::make(std::make_unique<Creator>(std::forward<Args>(args)...));
}

// ---- Supervisors ----

/// A session with services beside it. A new program is better off with a monitored session. The destructor
/// stops the services without throwing; close() throws their first error.
class supervisor
{
  public:
    explicit supervisor(braid_graph *g, const braid_supervisor_options &options = {}, here at = here::now())
        : raw_(detail::build(g, at, [&] { return ::braid_supervisor_new(g, &options); }))
    {
    }
    supervisor(const supervisor &) = delete;
    supervisor &operator=(const supervisor &) = delete;
    ~supervisor()
    {
        status st;
        ::braid_supervisor_close(raw_, st);
    }
    operator braid_supervisor *() const
    {
        return raw_;
    }

    /// Opens the supervisor's session, and starts the services and the queue runners.
    session_ref managed_session()
    {
        status st;
        return st.check(::braid_supervisor_managed_session(raw_, st));
    }
    /// The same without services and queue runners.
    session_ref prepare_or_wait_for_session()
    {
        status st;
        return st.check(::braid_supervisor_prepare_or_wait_for_session(raw_, st));
    }
    void start_standard_services()
    {
        status st;
        ::braid_supervisor_start_standard_services(raw_, st);
        st.check();
    }
    /// Opens a managed session, calls `train_step`, which gets it, until the supervisor stops, and stops.
    void train_loop(std::function<void(session_ref)> train_step)
    {
        const auto call = [](braid_session *s, void *arg, braid_status *st) {
            return detail::guarded(st, [&] { (*static_cast<std::function<void(session_ref)> *>(arg))(s); });
        };
        status st;
        ::braid_basic_train_loop(raw_, call, &train_step, st);
        st.check();
    }

    bool should_stop() const
    {
        return ::braid_supervisor_should_stop(raw_);
    }
    void request_stop()
    {
        ::braid_supervisor_request_stop(raw_, nullptr);
    }
    void request_stop(const error &why)
    {
        coordinator().request_stop(why);
    }
    /// At most `timeout_ms` (negative: without a limit). Returns whether a stop is requested.
    bool wait_for_stop(int64_t timeout_ms = -1)
    {
        return ::braid_supervisor_wait_for_stop(raw_, timeout_ms);
    }
    coordinator_ref coordinator() const
    {
        return ::braid_supervisor_coordinator(raw_);
    }
    /// Calls a function every so many seconds, in a thread, until the supervisor stops.
    void loop(const std::string &name, double every_seconds, coordinator_ref::function fn)
    {
        detail::start_loop(name, every_seconds, std::move(fn), [&](const braid_looper *looper, status &st) {
            ::braid_supervisor_loop(raw_, looper, st);
        });
    }

    /// The chief's event file while there is a session; null inside: none.
    event_writer_ref summary_writer() const
    {
        return ::braid_supervisor_summary_writer(raw_);
    }
    /// Writes a summary of the program's own, of a step; -1: of the global step now.
    void summary_computed(std::string_view summary, int64_t step = -1)
    {
        status st;
        ::braid_supervisor_summary_computed(raw_, summary.data(), summary.size(), step, st);
        st.check();
    }

    /// Stops the threads, closes the session, and throws the first error. Another session may be opened then.
    void stop()
    {
        status st;
        ::braid_supervisor_stop(raw_, st);
        st.check();
    }
    /// The same, for good.
    void close()
    {
        status st;
        ::braid_supervisor_close(std::exchange(raw_, nullptr), st);
        st.check();
    }

  private:
    braid_supervisor *raw_;
};

} // namespace braid
#endif
