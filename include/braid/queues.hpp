// Queues, readers and the input pipelines of queue runners for C++ (C++17, over queues.h, which describes
// them). Include braid.hpp.
//
//     auto files = braid::string_input_producer(g, {"a.tfrecord", "b.tfrecord"});
//     auto record = braid::reader::tf_record(g).read(files);
//     auto batch = braid::shuffle_batch({record.value}, 100);
#ifndef BRAID_QUEUES_HPP
#define BRAID_QUEUES_HPP

#include <braid/graph.hpp>
#include <braid/queues.h>

namespace braid
{

/// A component of the elements of a queue: {BRAID_FLOAT, {3}}.
struct component {
    braid_dtype dtype;
    braid::shape shape = braid::shape::unknown();
};

/// A queue: a value.
class queue
{
  public:
    queue(const braid_queue &raw) : raw_(raw) {}
    operator braid_queue() const
    {
        return raw_;
    }

    // ---- Kinds of queues ----
    //
    // `options` have the capacity (0: no maximum), names, and the order of random queues. Either all
    // components have a shape, or none.

    /// In order.
    static queue fifo(braid_graph *g, const std::vector<component> &components,
                      const braid_queue_options &options = {}, here at = here::now())
    {
        return make(::braid_fifo_queue, g, components, options, at);
    }
    /// At random.
    static queue random_shuffle(braid_graph *g, const std::vector<component> &components,
                                const braid_queue_options &options = {}, here at = here::now())
    {
        return make(::braid_random_shuffle_queue, g, components, options, at);
    }
    /// Dimensions of -1 may be different in each element.
    static queue padding_fifo(braid_graph *g, const std::vector<component> &components,
                              const braid_queue_options &options = {}, here at = here::now())
    {
        return make(::braid_padding_fifo_queue, g, components, options, at);
    }
    /// The element of the lowest priority first: an int64 scalar, which precedes the components.
    static queue priority(braid_graph *g, const std::vector<component> &components,
                          const braid_queue_options &options = {}, here at = here::now())
    {
        return make(::braid_priority_queue, g, components, options, at);
    }
    /// The queue of number `index`, chosen by each step.
    static queue select(const output &index, const std::vector<queue> &queues, here at = here::now())
    {
        const std::vector<braid_queue> raw(queues.begin(), queues.end());
        braid_graph *g = index.graph();
        return detail::build(
            g, at, [&] { return ::braid_queue_select(g, index, raw.data(), detail::count_of(raw)); });
    }

    // ---- Using one ----

    output handle() const
    {
        return raw_.handle;
    }
    /// Adds an element, or the slices of the components as one element each.
    operation enqueue(const outputs &components, here at = here::now()) const
    {
        return put(::braid_queue_enqueue, components, at);
    }
    operation enqueue_many(const outputs &components, here at = here::now()) const
    {
        return put(::braid_queue_enqueue_many, components, at);
    }
    /// Takes an element: its components.
    outputs dequeue(here at = here::now()) const
    {
        return taken(at, [&](braid_out *to) { ::braid_queue_dequeue(graph(), raw_, to); });
    }
    /// Takes `n` elements, stacked.
    outputs dequeue_many(int n, here at = here::now()) const
    {
        return taken(at, [&](braid_out *to) { ::braid_queue_dequeue_many(graph(), raw_, n, to); });
    }
    /// The same, fewer when the queue is closed and has too few.
    outputs dequeue_up_to(int n, here at = here::now()) const
    {
        return taken(at, [&](braid_out *to) { ::braid_queue_dequeue_up_to(graph(), raw_, n, to); });
    }
    operation close(bool cancel_pending_enqueues = false, here at = here::now()) const
    {
        return build(at, [&] { return ::braid_queue_close(graph(), raw_, cancel_pending_enqueues); });
    }
    /// The number of elements, an int32 scalar.
    output size(here at = here::now()) const
    {
        return build(at, [&] { return ::braid_queue_size(graph(), raw_); });
    }
    output is_closed(here at = here::now()) const
    {
        return build(at, [&] { return ::braid_queue_is_closed(graph(), raw_); });
    }

  private:
    static queue make(braid_queue (*fn)(braid_graph *, const braid_queue_options *), braid_graph *g,
                      const std::vector<component> &components, braid_queue_options options, here at)
    {
        std::vector<braid_dtype> dtypes;
        std::vector<braid_shape> shapes;
        bool is_known = false;
        for (const component &c : components) {
            dtypes.push_back(c.dtype);
            shapes.push_back(c.shape);
            is_known = is_known || c.shape.rank() >= 0;
        }
        options.dtypes = dtypes.data();
        options.shapes = is_known ? shapes.data() : nullptr;
        options.count = detail::count_of(components);
        return detail::build(g, at, [&] { return fn(g, &options); });
    }
    operation put(braid_op *(*fn)(braid_graph *, braid_queue, const braid_out *), const outputs &components,
                  here at) const
    {
        if (detail::count_of(components) != raw_.count)
            throw error(BRAID_INVALID_ARGUMENT, "a queue has " + std::to_string(raw_.count) +
                                                    " components, not " + std::to_string(components.size()));
        const std::vector<braid_out> raw = detail::raw_outs(components);
        return build(at, [&] { return fn(graph(), raw_, raw.data()); });
    }
    template <typename Store> outputs taken(here at, Store &&store) const
    {
        return build(at, [&] { return detail::stored(static_cast<size_t>(raw_.count), store); });
    }
    braid_graph *graph() const
    {
        return handle().graph();
    }
    template <typename Build> auto build(here at, Build &&call) const -> decltype(call())
    {
        return detail::build(graph(), at, std::forward<Build>(call));
    }
    braid_queue raw_;
};

// ---- Readers: the files of a queue, record by record ----

/// A record and its key: string scalars, or vectors of several.
struct record {
    output key, value;
    record(const braid_read &raw) : key(raw.key), value(raw.value) {}
};

class reader
{
  public:
    explicit reader(const output &handle) : handle_(handle) {}
    operator output() const
    {
        return handle_;
    }
    /// `compression` is "", "ZLIB" or "GZIP".
    static reader tf_record(braid_graph *g, const char *compression = "", here at = here::now())
    {
        return reader(detail::build(g, at, [&] { return ::braid_tf_record_reader(g, compression); }));
    }
    static reader text_line(braid_graph *g, int skip_header_lines = 0, here at = here::now())
    {
        return reader(detail::build(g, at, [&] { return ::braid_text_line_reader(g, skip_header_lines); }));
    }
    static reader whole_file(braid_graph *g, here at = here::now())
    {
        return reader(detail::build(g, at, [&] { return ::braid_whole_file_reader(g); }));
    }
    /// Of what the queue has instead of files.
    static reader identity(braid_graph *g, here at = here::now())
    {
        return reader(detail::build(g, at, [&] { return ::braid_identity_reader(g); }));
    }
    static reader fixed_length_record(braid_graph *g, const braid_fixed_length_options &options,
                                      here at = here::now())
    {
        return reader(detail::build(g, at, [&] { return ::braid_fixed_length_record_reader(g, &options); }));
    }

    /// The next record. Takes names of files from `files` when it needs them.
    record read(const queue &files, here at = here::now()) const
    {
        return build(at, [&] { return ::braid_reader_read(graph(), handle_, files); });
    }
    /// The next records: up to `count`, and fewer where a file ends.
    record read_up_to(const queue &files, int64_t count, here at = here::now()) const
    {
        return build(at, [&] { return ::braid_reader_read_up_to(graph(), handle_, files, count); });
    }
    output num_records_produced(here at = here::now()) const
    {
        return build(at, [&] { return ::braid_reader_num_records_produced(graph(), handle_); });
    }
    output num_work_units_completed(here at = here::now()) const
    {
        return build(at, [&] { return ::braid_reader_num_work_units_completed(graph(), handle_); });
    }
    output serialize_state(here at = here::now()) const
    {
        return build(at, [&] { return ::braid_reader_serialize_state(graph(), handle_); });
    }
    operation restore_state(const output &state, here at = here::now()) const
    {
        return build(at, [&] { return ::braid_reader_restore_state(graph(), handle_, state); });
    }
    /// To its beginning.
    operation reset(here at = here::now()) const
    {
        return build(at, [&] { return ::braid_reader_reset(graph(), handle_); });
    }

  private:
    braid_graph *graph() const
    {
        return handle_.graph();
    }
    template <typename Build> auto build(here at, Build &&call) const -> decltype(call())
    {
        return detail::build(graph(), at, std::forward<Build>(call));
    }
    output handle_;
};

// ---- Producers: each makes a queue and adds its queue runner to the graph ----

/// The slices of `input`, pass after pass.
inline queue input_producer(const output &input, const braid_producer_options &options = {},
                            here at = here::now())
{
    braid_graph *g = input.graph();
    return detail::build(g, at, [&] { return ::braid_input_producer(g, input, &options); });
}
/// Names of files.
inline queue string_input_producer(const output &strings, const braid_producer_options &options = {},
                                   here at = here::now())
{
    braid_graph *g = strings.graph();
    return detail::build(g, at, [&] { return ::braid_string_input_producer(g, strings, &options); });
}
inline queue string_input_producer(braid_graph *g, const std::vector<std::string> &strings,
                                   const braid_producer_options &options = {}, here at = here::now())
{
    return string_input_producer(graph_ref(g).constant(strings, nullptr, at), options, at);
}
/// The numbers from 0 up to `limit`.
inline queue range_input_producer(braid_graph *g, int32_t limit, const braid_producer_options &options = {},
                                  here at = here::now())
{
    return detail::build(g, at, [&] { return ::braid_range_input_producer(g, limit, &options); });
}
/// Slices of several tensors at a time.
inline outputs slice_input_producer(const outputs &tensors, const braid_producer_options &options = {},
                                    here at = here::now())
{
    const std::vector<braid_out> raw = detail::raw_outs(tensors);
    braid_graph *g = detail::graph_of(tensors);
    return detail::build(g, at, [&] {
        return detail::stored(raw.size(), [&](braid_out *to) {
            ::braid_slice_input_producer(g, raw.data(), detail::count_of(raw), &options, to);
        });
    });
}

// ---- Batches of what a pipeline computes again and again ----

namespace detail
{

using batch_fn = void (*)(braid_graph *, const braid_out *, int, const braid_batch_options *, braid_out *);
using join_fn = void (*)(braid_graph *, const braid_out *, int, int, const braid_batch_options *,
                         braid_out *);

inline outputs make_batch(batch_fn fn, const outputs &tensors, int batch_size, braid_batch_options options,
                          here at)
{
    options.batch_size = batch_size;
    const std::vector<braid_out> raw = raw_outs(tensors);
    braid_graph *g = graph_of(tensors);
    return build(g, at, [&] {
        return stored(raw.size(), [&](braid_out *to) { fn(g, raw.data(), count_of(raw), &options, to); });
    });
}

inline outputs join_batch(join_fn fn, const std::vector<outputs> &lists, int batch_size,
                          braid_batch_options options, here at)
{
    options.batch_size = batch_size;
    const size_t count = lists.empty() ? 0 : lists[0].size();
    std::vector<braid_out> raw;
    for (const outputs &list : lists) {
        if (list.size() != count)
            throw error(BRAID_INVALID_ARGUMENT, "the lists of a join have equally many tensors");
        raw.insert(raw.end(), list.begin(), list.end());
    }
    braid_graph *g = lists.empty() ? nullptr : graph_of(lists[0]);
    return build(g, at, [&] {
        return stored(count, [&](braid_out *to) {
            fn(g, raw.data(), count_of(lists), static_cast<int>(count), &options, to);
        });
    });
}

} // namespace detail

inline outputs batch(const outputs &tensors, int batch_size, const braid_batch_options &options = {},
                     here at = here::now())
{
    return detail::make_batch(::braid_batch, tensors, batch_size, options, at);
}
inline outputs shuffle_batch(const outputs &tensors, int batch_size, const braid_batch_options &options = {},
                             here at = here::now())
{
    return detail::make_batch(::braid_shuffle_batch, tensors, batch_size, options, at);
}
/// Of several pipelines, each by a thread of its own: lists of tensors of equal types and shapes.
inline outputs batch_join(const std::vector<outputs> &lists, int batch_size,
                          const braid_batch_options &options = {}, here at = here::now())
{
    return detail::join_batch(::braid_batch_join, lists, batch_size, options, at);
}
inline outputs shuffle_batch_join(const std::vector<outputs> &lists, int batch_size,
                                  const braid_batch_options &options = {}, here at = here::now())
{
    return detail::join_batch(::braid_shuffle_batch_join, lists, batch_size, options, at);
}

} // namespace braid
#endif
