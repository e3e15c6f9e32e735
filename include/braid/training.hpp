// Optimizers, monitored sessions, hooks, savers and summaries for C++ (C++17, over the headers of these
// names). Include braid.hpp.
#ifndef BRAID_TRAINING_HPP
#define BRAID_TRAINING_HPP

#include <braid/hooks.h>
#include <braid/monitored_session.h>
#include <braid/optimizers.h>
#include <braid/saver.h>
#include <braid/session.hpp>
#include <braid/summary.h>

#include <cstdlib>
#include <functional>
#include <memory>

namespace braid
{

// ---- Optimizers ----

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
    optimizer &learning_rate(const output &rate)
    {
        ::braid_optimizer_set_learning_rate(raw_, rate);
        return *this;
    }

  private:
    braid_optimizer *raw_;
};

inline optimizer gradient_descent(braid_graph *g, float learning_rate, here at = here::now())
{
    return optimizer(detail::build(g, at, [&] { return ::braid_gradient_descent(g, learning_rate); }));
}
inline optimizer momentum(braid_graph *g, float learning_rate, float momentum, here at = here::now())
{
    return optimizer(detail::build(g, at, [&] { return ::braid_momentum(g, learning_rate, momentum); }));
}
inline optimizer adam(braid_graph *g, float learning_rate = 0.001F, here at = here::now())
{
    return optimizer(detail::build(g, at, [&] { return ::braid_adam(g, learning_rate); }));
}
inline optimizer adagrad(braid_graph *g, float learning_rate, here at = here::now())
{
    return optimizer(detail::build(g, at, [&] { return ::braid_adagrad(g, learning_rate); }));
}
inline optimizer rmsprop(braid_graph *g, float learning_rate, here at = here::now())
{
    return optimizer(detail::build(g, at, [&] { return ::braid_rmsprop(g, learning_rate); }));
}

// ---- Summaries ----

inline output summary_scalar(const char *name, const output &value, here at = here::now())
{
    return detail::build(value.graph(), at,
                         [&] { return ::braid_summary_scalar(value.graph(), name, value); });
}
inline output summary_histogram(const char *name, const output &values, here at = here::now())
{
    return detail::build(values.graph(), at,
                         [&] { return ::braid_summary_histogram(values.graph(), name, values); });
}

// ---- Savers ----

/// Writes and reads checkpoints; belongs to the graph.
class saver
{
  public:
    explicit saver(braid_graph *g, const braid_saver_options &options = {}, here at = here::now())
        : raw_(detail::build(g, at, [&] { return ::braid_saver_new(g, &options); }))
    {
    }
    operator braid_saver *() const
    {
        return raw_;
    }
    /// Returns the prefix of the checkpoint: PATH-STEP.
    std::string save(braid_session *s, const std::string &path, int64_t global_step = -1)
    {
        status st;
        return taken(st.check(::braid_saver_save(raw_, s, path.c_str(), global_step, st)));
    }
    void restore(braid_session *s, const std::string &prefix)
    {
        status st;
        ::braid_saver_restore(raw_, s, prefix.c_str(), st);
        st.check();
    }
    /// The newest checkpoint of a directory.
    static std::string latest(const std::string &dir)
    {
        status st;
        return taken(st.check(::braid_latest_checkpoint(dir.c_str(), st)));
    }

  private:
    static std::string taken(char *text)
    {
        const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
        return text;
    }
    braid_saver *raw_;
};

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
    /// Calls; an exception becomes a code and a message. No exception passes through C.
    template <typename Call> static braid_code guarded(braid_status *st, Call &&call) noexcept
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
            ::braid_status_set(st, BRAID_UNKNOWN, "a hook has thrown an exception of an unknown type");
        }
        return BRAID_UNKNOWN;
    }
    static void begin(braid_hook *h, braid_graph *g)
    {
        status st;
        if (guarded(st, [&] { of(h).begin(g); }))
            (::braid_graph_fail)(g, ::braid_status_code(st), "%s", ::braid_status_message(st));
    }
    static braid_code after_create_session(braid_hook *h, braid_monitored_session *s, braid_status *st)
    {
        return guarded(st, [&] { of(h).after_create_session(s); });
    }
    static braid_code before_run(braid_hook *h, braid_monitored_session *s, braid_hook_request *q,
                                 braid_status *st)
    {
        return guarded(st, [&] {
            request r(q);
            of(h).before_run(s, r);
        });
    }
    static braid_code after_run(braid_hook *h, braid_monitored_session *s, braid_tensor *const *values,
                                braid_status *st)
    {
        return guarded(st, [&] {
            std::vector<tensor> shared;
            for (size_t i = 0; i < of(h).fetch_count(); i++)
                shared.emplace_back(::braid_tensor_copy(values[i]));
            of(h).after_run(s, shared);
        });
    }
    static braid_code end(braid_hook *h, braid_monitored_session *s, braid_status *st)
    {
        return guarded(st, [&] { of(h).end(s); });
    }
    static void failed(braid_hook *h, braid_monitored_session *s, const braid_status *st)
    {
        status unused;
        guarded(unused, [&] { of(h).failed(s, ::braid_status_code(st)); });
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
    int64_t global_step() const
    {
        return ::braid_monitored_session_global_step(raw_);
    }

    /// Runs one step with the hooks around it and returns the values of `fetches`. At the end of the input
    /// it returns nothing, and should_stop() is true.
    std::vector<tensor> run(const feeds &given, const operation &target,
                            const std::vector<output> &fetches = {})
    {
        return run(given, fetches, [&](const braid_feed *f, const braid_fetch *v) {
            return ::braid_run(raw_, f, v, target);
        });
    }
    void run(const operation &target)
    {
        run({}, target);
    }
    /// The same without hooks and without counting as a step.
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
        std::vector<braid_feed> fed = detail::raw_feeds(given);
        detail::fetched values(fetches);
        fed.push_back({{nullptr, 0}, nullptr});
        values.raw.push_back({{nullptr, 0}, nullptr});
        const braid_code code = call(fed.data(), values.raw.data());
        if (code == BRAID_OUT_OF_RANGE) return {};
        status st;
        if (code && ::braid_monitored_session_status(raw_, st)) st.check();
        if (code) throw error(code, "a run of the monitored session has failed");
        return values.take();
    }
    braid_monitored_session *raw_ = nullptr;
};

} // namespace braid
#endif
