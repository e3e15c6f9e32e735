// Savers and checkpoints for C++ (C++17, over saver.h, checkpoint.h and checkpoint_reader.h, which describe
// them). Include braid.hpp.
//
//     braid::saver saver(g);
//     const std::string prefix = saver.save(s, "/tmp/model/model.ckpt", 100);
//     braid::checkpoint_reader reader(prefix);
//     auto weights = reader.read("layer1/w");
#ifndef BRAID_CHECKPOINTS_HPP
#define BRAID_CHECKPOINTS_HPP

#include <braid/checkpoint_reader.h>
#include <braid/graph.hpp>
#include <braid/owned.hpp>
#include <braid/saver.h>

namespace braid
{

// ---- Checkpoints as files ----

/// The newest checkpoint of a directory.
inline std::string latest_checkpoint(const std::string &dir)
{
    status st;
    return detail::taken(st.check(::braid_latest_checkpoint(dir.c_str(), st)));
}
/// Waits until a directory has a newest checkpoint other than `last` ("": any), and returns it. `timeout_ms`
/// negative: without a limit.
inline std::string wait_for_new_checkpoint(const std::string &dir, const std::string &last = "",
                                           int64_t timeout_ms = -1)
{
    status st;
    return detail::taken(st.check(
        ::braid_wait_for_new_checkpoint(dir.c_str(), last.empty() ? nullptr : last.c_str(), timeout_ms, st)));
}
inline bool checkpoint_exists(const std::string &prefix)
{
    return ::braid_checkpoint_exists(prefix.c_str());
}
inline void remove_checkpoint(const std::string &prefix)
{
    status st;
    ::braid_checkpoint_remove(prefix.c_str(), st);
    st.check();
}

// ---- Savers ----

namespace detail
{

/// Ends a save whose result the program does not want.
inline void drop_save(braid_save *save)
{
    status st;
    std::free(::braid_save_finish(save, st)); // the caller's, by free()
}

} // namespace detail

/// A save in the background. Steps may run meanwhile, but the graph must not change. It ends before the
/// session is closed: the destructor waits for it.
class background_save
{
  public:
    explicit background_save(braid_save *raw) : raw_(raw) {}
    /// Whether finish() would return at once.
    bool is_done() const
    {
        return ::braid_save_is_done(raw_.get());
    }
    /// Waits for the end, once. Returns the prefix of the checkpoint.
    std::string finish()
    {
        status st;
        return detail::taken(st.check(::braid_save_finish(raw_.release(), st)));
    }

  private:
    detail::owned<braid_save, detail::drop_save> raw_;
};

/// Writes and reads checkpoints; belongs to the graph.
class saver
{
  public:
    /// Of all global variables, unless the options say otherwise.
    explicit saver(braid_graph *g, const braid_saver_options &options = {}, here at = here::now())
        : raw_(detail::build(g, at, [&] { return ::braid_saver_new(g, &options); }))
    {
    }
    /// Of these variables (`ref`).
    saver(braid_graph *g, const outputs &variables, braid_saver_options options = {}, here at = here::now())
    {
        const std::vector<braid_out> raw = detail::raw_outs(variables);
        options.vars = raw.data();
        options.var_count = detail::count_of(raw);
        raw_ = detail::build(g, at, [&] { return ::braid_saver_new(g, &options); });
    }
    operator braid_saver *() const
    {
        return raw_;
    }
    /// Returns the prefix of the checkpoint: PATH-STEP.
    std::string save(braid_session *s, const std::string &path, int64_t global_step = -1)
    {
        status st;
        return detail::taken(st.check(::braid_saver_save(raw_, s, path.c_str(), global_step, st)));
    }
    /// The same in the background; needs options.asynchronous.
    background_save begin(braid_session *s, const std::string &path, int64_t global_step = -1)
    {
        status st;
        return background_save(st.check(::braid_saver_begin(raw_, s, path.c_str(), global_step, st)));
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
        return latest_checkpoint(dir);
    }

  private:
    braid_saver *raw_;
};

// ---- Readers ----

/// What a checkpoint says of a tensor.
struct checkpoint_entry {
    std::string name;
    braid_dtype dtype;
    braid::shape shape;
};

/// Reads a checkpoint without a graph.
class checkpoint_reader
{
  public:
    /// That of a prefix, or the newest of a directory.
    explicit checkpoint_reader(const std::string &prefix_or_dir)
    {
        status st;
        raw_ = decltype(raw_)(st.check(::braid_checkpoint_reader_open(prefix_or_dir.c_str(), st)));
    }
    std::string prefix() const
    {
        return ::braid_checkpoint_reader_prefix(raw_.get());
    }
    /// All tensors in the order of their names.
    std::vector<checkpoint_entry> list() const
    {
        int count = 0;
        const braid_checkpoint_entry *raw = ::braid_checkpoint_reader_list(raw_.get(), &count);
        std::vector<checkpoint_entry> entries;
        for (int i = 0; i < count; i++)
            entries.push_back({raw[i].name, raw[i].dtype, raw[i].shape});
        return entries;
    }
    bool has(const std::string &name) const
    {
        return ::braid_checkpoint_reader_find(raw_.get(), name.c_str());
    }
    tensor read(const std::string &name)
    {
        status st;
        return tensor(st.check(::braid_checkpoint_reader_read(raw_.get(), name.c_str(), st)));
    }

  private:
    detail::owned<braid_checkpoint_reader, ::braid_checkpoint_reader_close> raw_;
};

} // namespace braid
#endif
