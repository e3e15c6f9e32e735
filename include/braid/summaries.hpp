// Summaries and event files for TensorBoard, for C++ (C++17, over summary.h and event_writer.h, which
// describe them). Include braid.hpp.
#ifndef BRAID_SUMMARIES_HPP
#define BRAID_SUMMARIES_HPP

#include <braid/event_writer.h>
#include <braid/graph.hpp>
#include <braid/owned.hpp>
#include <braid/summary.h>

namespace braid
{

// ---- Summary nodes: string scalars, in the collection "summaries" ----

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
/// The first images of [batch, height, width, channels].
inline output summary_image(const char *name, const output &images, int max_outputs = 3,
                            here at = here::now())
{
    return detail::build(images.graph(), at,
                         [&] { return ::braid_summary_image(images.graph(), name, images, max_outputs); });
}
/// The first clips of [batch, frames, channels] or [batch, frames].
inline output summary_audio(const char *name, const output &clips, float sample_rate, int max_outputs = 3,
                            here at = here::now())
{
    return detail::build(clips.graph(), at, [&] {
        return ::braid_summary_audio(clips.graph(), name, clips, sample_rate, max_outputs);
    });
}
inline output summary_text(const char *name, const output &texts, here at = here::now())
{
    return detail::build(texts.graph(), at, [&] { return ::braid_summary_text(texts.graph(), name, texts); });
}
/// One summary of several.
inline output summary_merge(const outputs &summaries, here at = here::now())
{
    const std::vector<braid_out> raw = detail::raw_outs(summaries);
    braid_graph *g = detail::graph_of(summaries);
    return detail::build(g, at, [&] { return ::braid_summary_merge(g, raw.data(), detail::count_of(raw)); });
}
/// One summary of all; no output when there is none.
inline output summary_merge_all(braid_graph *g, here at = here::now())
{
    return detail::build(g, at, [&] { return ::braid_summary_merge_all(g); });
}

// ---- Event files ----

namespace detail
{

inline void close_events(braid_event_writer *writer)
{
    status st;
    ::braid_event_writer_close(writer, st);
}

} // namespace detail

/// An event file that belongs to another object: an event_writer or a supervisor.
class event_writer_ref
{
  public:
    event_writer_ref(braid_event_writer *raw) : raw_(raw) {}
    operator braid_event_writer *() const
    {
        return raw_;
    }
    /// The value of a summary node: writer.add_summary(s.run(summary).text(0), step).
    void add_summary(std::string_view summary, int64_t global_step)
    {
        status st;
        ::braid_event_writer_add_summary(raw_, summary.data(), summary.size(), global_step, st);
        st.check();
    }
    void add_scalar(const std::string &tag, float value, int64_t global_step)
    {
        status st;
        ::braid_event_writer_add_scalar(raw_, tag.c_str(), value, global_step, st);
        st.check();
    }
    void add_graph(const braid_graph *g, int64_t global_step = 0)
    {
        status st;
        size_t len = 0;
        const std::unique_ptr<void, decltype(&std::free)> def(st.check(::braid_graph_export(g, &len, st)),
                                                              &std::free); // the caller's, by free()
        ::braid_event_writer_add_graph(raw_, def.get(), len, global_step, st);
        st.check();
    }
    /// Other programs see all events then.
    void flush()
    {
        status st;
        ::braid_event_writer_flush(raw_, st);
        st.check();
    }

  protected:
    braid_event_writer *raw_;
};

/// Writes an event file of a directory, which is made. The destructor closes it without an error; close()
/// throws it.
class event_writer : public event_writer_ref
{
  public:
    explicit event_writer(const std::string &dir) : event_writer_ref(open(dir)) {}
    event_writer(event_writer &&other) noexcept : event_writer_ref(std::exchange(other.raw_, nullptr)) {}
    event_writer &operator=(event_writer &&other) noexcept
    {
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~event_writer()
    {
        detail::close_events(raw_);
    }
    void close()
    {
        status st;
        ::braid_event_writer_close(std::exchange(raw_, nullptr), st);
        st.check();
    }

  private:
    static braid_event_writer *open(const std::string &dir)
    {
        status st;
        return st.check(::braid_event_writer_open(dir.c_str(), st));
    }
};

} // namespace braid
#endif
