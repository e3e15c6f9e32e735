// Coordinators and queue runners for C++ (C++17, over coordinator.h and queue_runner.h, which describe them).
// Include braid.hpp.
//
//     braid::coordinator c;
//     c.start("reader", [&](braid::coordinator_ref me) { while (!me.should_stop()) read_some(); });
//     ...
//     c.request_stop();
//     c.join(); // throws the first error of a thread
#ifndef BRAID_COORDINATOR_HPP
#define BRAID_COORDINATOR_HPP

#include <braid/coordinator.h>
#include <braid/graph.hpp>
#include <braid/queue_runner.h>

#include <functional>
#include <memory>

namespace braid
{

namespace detail
{

/// Calls for C; an exception becomes a code and a message. No exception passes through C.
template <typename Call> braid_code guarded(braid_status *st, Call &&call) noexcept
{
    try {
        call();
        return BRAID_OK;
    } catch (const error &e) {
        ::braid_status_set(st, e.code(), e.message().c_str());
        return e.code();
    } catch (const std::exception &e) {
        ::braid_status_set(st, BRAID_UNKNOWN, e.what());
    } catch (...) {
        ::braid_status_set(st, BRAID_UNKNOWN,
                           "a function of the program has thrown an exception of an unknown type");
    }
    return BRAID_UNKNOWN;
}

/// An error as a status.
inline void set_status(braid_status *st, const error &e)
{
    ::braid_status_set(st, e.code(), e.message().c_str());
}

} // namespace detail

/// A thread that the program has started by itself, and that coordinator::join waits for. The destructor says
/// that the thread has ended: keep it within the thread.
class coordinated_thread
{
  public:
    explicit coordinated_thread(braid_coordinated_thread *raw) : raw_(raw) {}
    coordinated_thread(coordinated_thread &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    coordinated_thread &operator=(coordinated_thread &&other) noexcept
    {
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~coordinated_thread()
    {
        if (raw_) ::braid_coordinated_thread_end(raw_, nullptr);
    }
    /// The thread has ended with an error, which asks all threads to end.
    void fail(const error &why)
    {
        status st;
        detail::set_status(st, why);
        ::braid_coordinated_thread_end(std::exchange(raw_, nullptr), st);
    }

  private:
    braid_coordinated_thread *raw_;
};

/// A coordinator that belongs to another object: a coordinator, a supervisor or a monitored session. Any
/// thread may use it.
class coordinator_ref
{
  public:
    /// What a thread runs. What it throws asks all threads to end.
    using function = std::function<void(coordinator_ref)>;

    coordinator_ref(braid_coordinator *raw) : raw_(raw) {}
    operator braid_coordinator *() const
    {
        return raw_;
    }

    /// Asks all threads to end.
    void request_stop()
    {
        ::braid_coordinator_request_stop(raw_, nullptr);
    }
    /// With an error, unless a stop is already requested. OutOfRange and Cancelled are none.
    void request_stop(const error &why)
    {
        status st;
        detail::set_status(st, why);
        ::braid_coordinator_request_stop(raw_, st);
    }
    bool should_stop() const
    {
        return ::braid_coordinator_should_stop(raw_);
    }
    /// Waits for a request to stop, at most `timeout_ms` (negative: without a limit). Returns whether one is
    /// there.
    bool wait_for_stop(int64_t timeout_ms = -1) const
    {
        return ::braid_coordinator_wait_for_stop(raw_, timeout_ms);
    }
    /// Throws the error of the request, if there is one.
    void check() const
    {
        status st;
        ::braid_coordinator_status(raw_, st);
        st.check();
    }
    /// Starts a thread.
    void start(const std::string &name, function fn)
    {
        auto *owned = new function(std::move(fn)); // the thread deletes it
        status st;
        if (::braid_coordinator_start(raw_, name.c_str(), run, owned, st)) delete owned;
        st.check();
    }
    /// For a thread of the program's own, before it is started; the thread takes what is returned.
    coordinated_thread register_thread(const std::string &name)
    {
        return coordinated_thread(::braid_coordinator_register_thread(raw_, name.c_str()));
    }

  protected:
    braid_coordinator *raw_;

  private:
    static braid_code run(braid_coordinator *c, void *arg, braid_status *st)
    {
        const std::unique_ptr<function> owned(static_cast<function *>(arg));
        return detail::guarded(st, [&] { (*owned)(c); });
    }
};

namespace detail
{

/// Calls `begin` with a looper that calls `fn` and deletes it at the end of the loop.
template <typename Begin>
void start_loop(const std::string &name, double every_seconds, coordinator_ref::function fn, Begin &&begin)
{
    using function = coordinator_ref::function;
    braid_looper looper{};
    looper.name = name.c_str();
    looper.fn = [](braid_coordinator *c, void *arg, braid_status *st) {
        return guarded(st, [&] { (*static_cast<function *>(arg))(c); });
    };
    looper.arg = new function(std::move(fn));
    looper.every_seconds = every_seconds;
    looper.free = [](void *arg) { delete static_cast<function *>(arg); };
    status st;
    begin(&looper, st);
    st.check();
}

} // namespace detail

/// Threads that work beside training and end together. The destructor asks them to end and waits for them.
class coordinator : public coordinator_ref
{
  public:
    coordinator() : coordinator_ref(::braid_coordinator_new()) {}
    coordinator(const coordinator &) = delete;
    coordinator &operator=(const coordinator &) = delete;
    ~coordinator()
    {
        request_stop();
        status st;
        ::braid_coordinator_join(raw_, 0, st);
        ::braid_coordinator_free(raw_);
    }
    /// Calls a function at once and then every so many seconds, in a thread, until a stop is requested.
    void loop(const std::string &name, double every_seconds, function fn)
    {
        detail::start_loop(name, every_seconds, std::move(fn), [&](const braid_looper *looper, status &st) {
            ::braid_looper_start(raw_, looper, st);
        });
    }
    /// Waits until all threads have ended. After a request to stop they have `grace_ms` to end (0: two
    /// minutes). Throws the error of the request, or else DeadlineExceeded.
    void join(int64_t grace_ms = 0)
    {
        status st;
        ::braid_coordinator_join(raw_, grace_ms, st);
        st.check();
    }
    /// Forgets the request and its error, so that new threads can be started after a join.
    void clear_stop()
    {
        ::braid_coordinator_clear_stop(raw_);
    }
};

// ---- Queue runners ----

/// Threads that fill a queue; belongs to the graph. A monitored session starts those that are added to it.
class queue_runner
{
  public:
    /// A thread for each enqueue op. `closed_codes` are the errors that say that the input has ended; none:
    /// OutOfRange.
    queue_runner(const output &queue, const std::vector<operation> &enqueue_ops,
                 const std::vector<braid_code> &closed_codes = {}, here at = here::now())
        : g_(queue.graph())
    {
        const std::vector<braid_op *> ops(enqueue_ops.begin(), enqueue_ops.end());
        braid_queue_runner_options options{};
        options.enqueue_ops = ops.data();
        options.enqueue_op_count = detail::count_of(ops);
        options.closed_codes = closed_codes.data();
        options.closed_code_count = detail::count_of(closed_codes);
        raw_ = detail::build(g_, at, [&] { return ::braid_queue_runner_new(g_, queue, &options); });
    }
    operator braid_queue_runner *() const
    {
        return raw_;
    }
    /// Adds it to the runners that monitored sessions and start_queue_runners start.
    queue_runner &add()
    {
        ::braid_add_queue_runner(g_, raw_);
        return *this;
    }
    /// Request a stop and join the coordinator before the session is closed.
    void start(braid_session *s, braid_coordinator *c)
    {
        status st;
        ::braid_queue_runner_start(raw_, s, c, st);
        st.check();
    }

  private:
    braid_graph *g_;
    braid_queue_runner *raw_;
};

/// Starts all runners of a graph; not for the session of a monitored session.
inline void start_queue_runners(const braid_graph *g, braid_session *s, braid_coordinator *c)
{
    status st;
    ::braid_start_queue_runners(g, s, c, st);
    st.check();
}

} // namespace braid
#endif
