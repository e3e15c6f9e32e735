// Monitored sessions and hooks for C++ (C++17, over monitored_session.h and hooks.h). Include braid.hpp.
#ifndef BRAID_TRAINING_HPP
#define BRAID_TRAINING_HPP

#include <braid/coordinator.hpp>
#include <braid/hooks.h>
#include <braid/monitored_session.h>
#include <braid/session.hpp>

#include <functional>
#include <memory>

namespace braid
{

// ---- Hooks ----

/// What a hook adds to a step.
class request
{
  public:
    explicit request(braid_hook_request *raw) : raw_(raw) {}
    void fetch(const output &out)
    {
        ::braid_hook_fetch(raw_, out);
    }
    void target(const operation &op)
    {
        ::braid_hook_target(raw_, op);
    }
    /// The tensor must live until after_run.
    void feed(const output &out, const tensor &value)
    {
        ::braid_hook_feed(raw_, out, value.get());
    }
    /// Unless the program or another hook gives the step a longer one.
    void timeout(int64_t timeout_ms)
    {
        ::braid_hook_timeout(raw_, timeout_ms);
    }
    /// Traces the step, which makes it slower, and stores its record before after_run.
    void trace(braid_run_metadata *metadata)
    {
        ::braid_hook_trace(raw_, metadata);
    }

  private:
    braid_hook_request *raw_;
};

/// One's own hook: override what is of interest. An exception becomes the error of the session.
class hook
{
  public:
    virtual ~hook() = default;
    virtual void begin(braid_graph *) {}
    virtual void after_create_session(braid_monitored_session *) {}
    virtual void before_run(braid_monitored_session *, request &) {}
    /// With the values that before_run has asked for.
    virtual void after_run(braid_monitored_session *, const std::vector<tensor> &) {}
    /// The session is about to be closed: end the threads of the hook that use it.
    virtual void before_close_session(braid_monitored_session *) {}
    virtual void end(braid_monitored_session *) {}
    virtual void failed(braid_monitored_session *, braid_code) {}

  protected:
    /// How many values before_run asks for: the members of after_run's vector.
    virtual size_t fetch_count() const
    {
        return 0;
    }
    friend struct hook_adapter;
};

/// The hook of the C interface that calls a hook; the session frees both.
struct hook_adapter {
    braid_hook raw; // the first member
    std::unique_ptr<hook> target;

    static braid_hook *make(std::unique_ptr<hook> h)
    {
        auto *made = new hook_adapter{{}, std::move(h)};
        made->raw.begin = begin;
        made->raw.after_create_session = after_create_session;
        made->raw.before_run = before_run;
        made->raw.after_run = after_run;
        made->raw.before_close_session = before_close_session;
        made->raw.end = end;
        made->raw.failed = failed;
        made->raw.free = free;
        return &made->raw;
    }

  private:
    static hook &of(braid_hook *h)
    {
        return *reinterpret_cast<hook_adapter *>(h)->target;
    }
    static void begin(braid_hook *h, braid_graph *g)
    {
        status st;
        if (detail::guarded(st, [&] { of(h).begin(g); }))
            (::braid_graph_fail)(g, ::braid_status_code(st), "%s", ::braid_status_message(st));
    }
    static braid_code after_create_session(braid_hook *h, braid_monitored_session *s, braid_status *st)
    {
        return detail::guarded(st, [&] { of(h).after_create_session(s); });
    }
    static braid_code before_run(braid_hook *h, braid_monitored_session *s, braid_hook_request *q,
                                 braid_status *st)
    {
        return detail::guarded(st, [&] {
            request r(q);
            of(h).before_run(s, r);
        });
    }
    static braid_code after_run(braid_hook *h, braid_monitored_session *s, braid_tensor *const *values,
                                braid_status *st)
    {
        return detail::guarded(st, [&] {
            std::vector<tensor> shared;
            for (size_t i = 0; i < of(h).fetch_count(); i++)
                shared.emplace_back(::braid_tensor_copy(values[i]));
            of(h).after_run(s, shared);
        });
    }
    static void before_close_session(braid_hook *h, braid_monitored_session *s)
    {
        status unused;
        detail::guarded(unused, [&] { of(h).before_close_session(s); });
    }
    static braid_code end(braid_hook *h, braid_monitored_session *s, braid_status *st)
    {
        return detail::guarded(st, [&] { of(h).end(s); });
    }
    static void failed(braid_hook *h, braid_monitored_session *s, const braid_status *st)
    {
        status unused;
        detail::guarded(unused, [&] { of(h).failed(s, ::braid_status_code(st)); });
    }
    static void free(braid_hook *h)
    {
        delete reinterpret_cast<hook_adapter *>(h);
    }
};

/// Hooks of a session: those of hooks.h, one's own classes, and lambdas. The session takes them.
class hooks
{
  public:
    hooks() = default;
    hooks(std::initializer_list<braid_hook *> given) : raw_(given) {}
    hooks(hooks &&) = default;
    hooks &operator=(hooks &&) = default;
    ~hooks()
    {
        for (braid_hook *h : raw_)
            if (h && h->free) h->free(h);
    }
    std::vector<braid_hook *> take()
    {
        return std::exchange(raw_, {});
    }

  private:
    std::vector<braid_hook *> raw_;
};

/// A hook of one's own class, for `hooks`: make_hook<my_hook>(arguments).
template <typename Hook, typename... Args> braid_hook *make_hook(Args &&...args)
{
    return hook_adapter::make(std::make_unique<Hook>(std::forward<Args>(args)...));
}

/// Calls a function with the values of outputs after each step: after_step({loss}, [](auto &values) { ... }).
inline braid_hook *after_step(std::initializer_list<output> outs,
                              std::function<void(const std::vector<tensor> &)> call)
{
    class calling : public hook
    {
      public:
        calling(std::vector<output> outs, std::function<void(const std::vector<tensor> &)> call)
            : outs_(std::move(outs)), call_(std::move(call))
        {
        }
        void before_run(braid_monitored_session *, request &r) override
        {
            for (const output &out : outs_)
                r.fetch(out);
        }
        void after_run(braid_monitored_session *, const std::vector<tensor> &values) override
        {
            call_(values);
        }

      protected:
        size_t fetch_count() const override
        {
            return outs_.size();
        }

      private:
        std::vector<output> outs_;
        std::function<void(const std::vector<tensor> &)> call_;
    };
    return make_hook<calling>(outs, std::move(call));
}

// ---- Monitored sessions ----

namespace detail
{

/// Calls a run of the C interface with feeds and fetches, lists that end with nothing. Returns the code, and
/// stores the values if that is OK.
template <typename Call>
braid_code run_listed(const feeds &given, const std::vector<output> &fetches, std::vector<tensor> &values,
                      Call &&call)
{
    std::vector<braid_feed> fed = raw_feeds(given);
    fetched stored(fetches);
    fed.push_back({{nullptr, 0}, nullptr});
    stored.raw.push_back({{nullptr, 0}, nullptr});
    const braid_code code = call(fed.data(), stored.raw.data());
    if (!code) values = stored.take();
    return code;
}

} // namespace detail

/// What monitored_session::run_step gives to a step of the program's own, during the call.
class step_context
{
  public:
    explicit step_context(braid_step_context *raw) : raw_(raw) {}
    /// The session underneath, whose runs call no hooks.
    session_ref session() const
    {
        return ::braid_step_session(raw_);
    }
    /// Runs with the hooks around it. Throws each error, also OutOfRange, the end of the input.
    std::vector<tensor> run(const feeds &given, const operation &target,
                            const std::vector<output> &fetches = {}, const braid_run_options &options = {})
    {
        std::vector<tensor> values;
        status st;
        detail::run_listed(given, fetches, values, [&](const braid_feed *f, const braid_fetch *v) {
            return ::braid_step_run(raw_, f, v, target, &options, st);
        });
        st.check();
        return values;
    }
    void request_stop()
    {
        ::braid_step_request_stop(raw_);
    }

  private:
    braid_step_context *raw_;
};

/// A session that initializes or restores, calls hooks, saves checkpoints and recovers. Close it to see its
/// error; the destructor closes without throwing.
class monitored_session
{
  public:
    explicit monitored_session(braid_graph *g, braid_session_config config = {}, hooks given = {},
                               here at = here::now())
    {
        std::vector<braid_hook *> list = given.take();
        list.push_back(nullptr);
        config.hooks = list.data();
        ::braid_here(at.file, at.line);
        raw_ = ::braid_monitored_session_open(g, &config);
        ::braid_here(nullptr, 0);
        status st;
        if (!::braid_monitored_session_status(raw_, st)) return;
        ::braid_monitored_session_close(std::exchange(raw_, nullptr));
        st.check();
    }
    monitored_session(const monitored_session &) = delete;
    monitored_session &operator=(const monitored_session &) = delete;
    ~monitored_session()
    {
        if (raw_) ::braid_monitored_session_close(raw_);
    }
    operator braid_monitored_session *() const
    {
        return raw_;
    }
    bool should_stop() const
    {
        return ::braid_should_stop(raw_);
    }
    void request_stop()
    {
        ::braid_request_stop(raw_);
    }
    /// Makes an error of the program's own the session's, unless it has one already.
    void fail(const error &why)
    {
        status st;
        detail::set_status(st, why);
        ::braid_monitored_session_fail(raw_, st);
    }
    /// Whether this process does the chief's work.
    bool is_chief() const
    {
        return ::braid_monitored_session_is_chief(raw_);
    }
    /// The coordinator of the threads that work beside training.
    coordinator_ref coordinator() const
    {
        return ::braid_monitored_session_coordinator(raw_);
    }
    /// The session underneath, until the next run.
    session_ref raw() const
    {
        return ::braid_monitored_session_raw(raw_);
    }
    int64_t global_step() const
    {
        return ::braid_monitored_session_global_step(raw_);
    }

    /// Runs one step with the hooks around it and returns the values of `fetches`. At the end of the input
    /// it returns nothing, and should_stop() is true.
    std::vector<tensor> run(const feeds &given, const operation &target,
                            const std::vector<output> &fetches = {}, const braid_run_options &options = {})
    {
        return run(given, fetches, [&](const braid_feed *f, const braid_fetch *v) {
            return ::braid_run_with_options(raw_, f, v, target, &options);
        });
    }
    void run(const operation &target)
    {
        run({}, target);
    }
    /// Calls a step of the program's own, and again in another session where that may help against an error:
    /// s.run_step([&](braid::step_context c) { c.session().run(fill); c.run({}, train); }).
    template <typename Step> void run_step(Step &&step)
    {
        struct holder {
            std::remove_reference_t<Step> &step;
        } held{step};
        const auto call = [](braid_step_context *c, void *arg, braid_status *st) {
            return detail::guarded(st, [&] { static_cast<holder *>(arg)->step(step_context(c)); });
        };
        check(::braid_run_step_fn(raw_, call, &held));
    }
    /// As run() without hooks and without counting as a step.
    std::vector<tensor> evaluate(const feeds &given, const std::vector<output> &fetches)
    {
        return run(given, fetches,
                   [&](const braid_feed *f, const braid_fetch *v) { return ::braid_evaluate(raw_, f, v); });
    }
    tensor evaluate(const output &fetch, const feeds &given = {})
    {
        return evaluate(given, std::vector<output>{fetch}).at(0);
    }
    /// Ends the hooks, saves, closes, and throws the first error.
    void close()
    {
        status st;
        ::braid_monitored_session_status(raw_, st);
        const braid_code code = ::braid_monitored_session_close(std::exchange(raw_, nullptr));
        st.check();
        if (code) throw error(code, "the monitored session could not be ended; the log has the error");
    }

  private:
    template <typename Run>
    std::vector<tensor> run(const feeds &given, const std::vector<output> &fetches, Run &&call)
    {
        std::vector<tensor> values;
        check(detail::run_listed(given, fetches, values, std::forward<Run>(call)));
        return values;
    }
    /// Throws the session's error. The end of the input is none.
    void check(braid_code code) const
    {
        if (!code || code == BRAID_OUT_OF_RANGE) return;
        status st;
        if (::braid_monitored_session_status(raw_, st)) st.check();
        throw error(code, "a run of the monitored session has failed");
    }
    braid_monitored_session *raw_ = nullptr;
};

} // namespace braid
#endif
