// Input pipelines for C++ (C++17, over dataset.h and parsing.h, which describe them). Include braid.hpp.
//
//     auto data = braid::dataset::tf_record(g, files).shuffle(10000).repeat().batch(100, true)
//                     .parse_example({braid::fixed_len_feature<float>("x", {4})}).prefetch();
//     auto next = data.make_initializable_iterator().get_next();
//     auto loss = model(next[0]);
#ifndef BRAID_INPUT_HPP
#define BRAID_INPUT_HPP

#include <braid/control.hpp>
#include <braid/dataset.h>

namespace braid
{

// ---- Features of Example messages ----

/// A feature to be parsed: fixed_len_feature or var_len_feature.
struct feature {
    std::string name;
    braid_dtype dtype;
    bool is_var_len; ///< a sparse tensor
    shape dims;      ///< of one example, of a dense feature
    tensor default_value;
};

/// A dense feature of float, int64_t or std::string. Each example has it unless there is a default value.
template <typename T>
feature fixed_len_feature(const std::string &name, const shape &s, const tensor &default_value = {})
{
    return {name, dtype_of<T>(), false, s, default_value};
}
/// A list of any length, which becomes a sparse tensor.
template <typename T> feature var_len_feature(const std::string &name)
{
    return {name, dtype_of<T>(), true, {}, {}};
}

/// A parsed feature: dense values [batch, shape...]; or those of a sparse tensor, with indices [n, 2] and
/// dense shape [2].
struct parsed {
    output values, indices, dense_shape;
    parsed(const braid_parsed &raw) : values(raw.values), indices(raw.indices), dense_shape(raw.dense_shape)
    {
    }
};

namespace detail
{

inline std::vector<braid_feature> raw_features(const std::vector<feature> &features)
{
    std::vector<braid_feature> raw;
    for (const feature &f : features)
        raw.push_back({f.name.c_str(), f.dtype, f.is_var_len, f.dims, f.default_value.get()});
    return raw;
}

} // namespace detail

/// Parses a string vector [batch] of Example messages.
inline std::vector<parsed> parse_example(const output &serialized, const std::vector<feature> &features,
                                         const char *name = nullptr, here at = here::now())
{
    const std::vector<braid_feature> raw = detail::raw_features(features);
    std::vector<braid_parsed> made(raw.size());
    braid_graph *g = serialized.graph();
    detail::build(g, at, [&] {
        ::braid_parse_example(g, name, serialized, raw.data(), detail::count_of(raw), made.data());
    });
    return {made.begin(), made.end()};
}

// ---- Datasets ----

class dataset;

/// The place of a session in a dataset.
class iterator
{
  public:
    iterator(const braid_iterator &raw) : raw_(raw) {}
    operator braid_iterator() const
    {
        return raw_;
    }
    /// The components of the next element. A step fails with OutOfRange at the end of the dataset.
    outputs get_next(here at = here::now()) const
    {
        return detail::build(graph(), at, [&] {
            return detail::stored(static_cast<size_t>(raw_.dataset.count),
                                  [&](braid_out *to) { ::braid_iterator_get_next(graph(), raw_, to); });
        });
    }
    /// The node that sets an initializable iterator to its beginning. Monitored sessions run it.
    operation initializer() const
    {
        return raw_.initializer;
    }
    /// A node that sets the iterator to the beginning of a dataset.
    operation make_initializer(const dataset &data, here at = here::now()) const;

  private:
    braid_graph *graph() const
    {
        return output(raw_.handle).graph();
    }
    braid_iterator raw_;
};

/// A dataset: a value. Its elements have components.
class dataset
{
  public:
    dataset(const braid_dataset &raw) : raw_(raw) {}
    operator braid_dataset() const
    {
        return raw_;
    }
    /// The number of components, and what is known of each.
    int size() const
    {
        return raw_.count;
    }
    braid_dtype dtype(int component) const
    {
        return raw_.dtypes[component];
    }
    braid::shape shape_of(int component) const
    {
        return raw_.shapes[component];
    }

    // ---- Sources ----

    /// One element.
    static dataset from_tensors(const outputs &components, here at = here::now())
    {
        const std::vector<braid_out> raw = detail::raw_outs(components);
        braid_graph *g = detail::graph_of(components);
        return detail::build(
            g, at, [&] { return ::braid_dataset_from_tensors(g, raw.data(), detail::count_of(raw)); });
    }
    /// The slices along the first dimensions.
    static dataset from_tensor_slices(const outputs &components, here at = here::now())
    {
        const std::vector<braid_out> raw = detail::raw_outs(components);
        braid_graph *g = detail::graph_of(components);
        return detail::build(
            g, at, [&] { return ::braid_dataset_from_tensor_slices(g, raw.data(), detail::count_of(raw)); });
    }
    /// int64 scalars from `start` on, before `stop`.
    static dataset range(braid_graph *g, int64_t start, int64_t stop, int64_t step = 1, here at = here::now())
    {
        return detail::build(g, at, [&] { return ::braid_dataset_range(g, start, stop, step); });
    }
    /// The names of the files that match patterns, in order. Here and below, names of files are an output as
    /// well.
    static dataset list_files(const output &patterns, here at = here::now())
    {
        braid_graph *g = patterns.graph();
        return detail::build(g, at, [&] { return ::braid_dataset_list_files(g, patterns); });
    }
    static dataset list_files(braid_graph *g, const std::vector<std::string> &patterns, here at = here::now())
    {
        return list_files(graph_ref(g).constant(patterns, nullptr, at), at);
    }
    /// Lines of text. `compression` is "", "ZLIB" or "GZIP".
    static dataset text_line(const output &files, const char *compression = "", here at = here::now())
    {
        braid_graph *g = files.graph();
        return detail::build(g, at, [&] { return ::braid_dataset_text_line(g, files, compression); });
    }
    static dataset text_line(braid_graph *g, const std::vector<std::string> &files,
                             const char *compression = "", here at = here::now())
    {
        return text_line(graph_ref(g).constant(files, nullptr, at), compression, at);
    }
    /// The records of TFRecord files.
    static dataset tf_record(const output &files, const char *compression = "", here at = here::now())
    {
        braid_graph *g = files.graph();
        return detail::build(g, at, [&] { return ::braid_dataset_tf_record(g, files, compression); });
    }
    static dataset tf_record(braid_graph *g, const std::vector<std::string> &files,
                             const char *compression = "", here at = here::now())
    {
        return tf_record(graph_ref(g).constant(files, nullptr, at), compression, at);
    }
    /// Records of one length, between a header and a footer of each file.
    static dataset fixed_length_record(const output &files, int64_t record_bytes, int64_t header_bytes = 0,
                                       int64_t footer_bytes = 0, here at = here::now())
    {
        braid_graph *g = files.graph();
        return detail::build(g, at, [&] {
            return ::braid_dataset_fixed_length_record(g, files, record_bytes, header_bytes, footer_bytes);
        });
    }
    /// A component for each default, a vector of one element, or of none where a value must be given.
    static dataset csv(const output &files, const outputs &record_defaults, bool has_header = false,
                       here at = here::now())
    {
        const std::vector<braid_out> raw = detail::raw_outs(record_defaults);
        braid_graph *g = files.graph();
        return detail::build(g, at, [&] {
            return ::braid_dataset_csv(g, files, raw.data(), detail::count_of(raw), has_header);
        });
    }
    /// Elements of several datasets side by side.
    static dataset zip(const std::vector<dataset> &datasets, here at = here::now())
    {
        const std::vector<braid_dataset> raw(datasets.begin(), datasets.end());
        braid_graph *g = datasets.empty() ? nullptr : datasets[0].graph();
        return detail::build(g, at,
                             [&] { return ::braid_dataset_zip(g, raw.data(), detail::count_of(raw)); });
    }

    // ---- Transformations ----

    /// -1: for ever.
    dataset repeat(int64_t count = -1, here at = here::now()) const
    {
        return build(at, [&] { return ::braid_dataset_repeat(graph(), raw_, count); });
    }
    dataset take(int64_t count, here at = here::now()) const
    {
        return build(at, [&] { return ::braid_dataset_take(graph(), raw_, count); });
    }
    dataset skip(int64_t count, here at = here::now()) const
    {
        return build(at, [&] { return ::braid_dataset_skip(graph(), raw_, count); });
    }
    /// Every `num_shards`th element from number `index` on: a worker's part.
    dataset shard(int64_t num_shards, int64_t index, here at = here::now()) const
    {
        return build(at, [&] { return ::braid_dataset_shard(graph(), raw_, num_shards, index); });
    }
    /// `seed` 0: by the graph's seed, or another order in each session.
    dataset shuffle(int64_t buffer_size, int64_t seed = 0, bool reshuffle_each_iteration = true,
                    here at = here::now()) const
    {
        return build(at, [&] {
            return ::braid_dataset_shuffle(graph(), raw_, buffer_size, seed, reshuffle_each_iteration);
        });
    }
    dataset batch(int64_t batch_size, bool drop_remainder = false, here at = here::now()) const
    {
        return build(at, [&] { return ::braid_dataset_batch(graph(), raw_, batch_size, drop_remainder); });
    }
    /// Elements are padded to the shapes [components], in which -1 stands for the largest of the batch; none:
    /// the shapes of the dataset.
    dataset padded_batch(int64_t batch_size, const std::vector<braid::shape> &padded_shapes = {},
                         bool drop_remainder = false, here at = here::now()) const
    {
        const std::vector<braid_shape> raw = detail::raw_shapes(padded_shapes);
        if (!raw.empty() && detail::count_of(raw) != size())
            throw error(BRAID_INVALID_ARGUMENT, "a padded batch has a shape for each component, or none");
        return build(at, [&] {
            return ::braid_dataset_padded_batch(graph(), raw_, batch_size, raw.empty() ? nullptr : raw.data(),
                                                drop_remainder);
        });
    }
    /// Batches of Example messages become their features, in the order of the names.
    dataset parse_example(const std::vector<feature> &features, int parallel_calls = 1,
                          here at = here::now()) const
    {
        const std::vector<braid_feature> raw = detail::raw_features(features);
        return build(at, [&] {
            return ::braid_dataset_parse_example(graph(), raw_, raw.data(), detail::count_of(raw),
                                                 parallel_calls);
        });
    }
    /// -1: as many elements as turn out to be of use.
    dataset prefetch(int64_t buffer_size = -1, here at = here::now()) const
    {
        return build(at, [&] { return ::braid_dataset_prefetch(graph(), raw_, buffer_size); });
    }
    /// In memory, or in files named `file...`.
    dataset cache(const char *file = nullptr, here at = here::now()) const
    {
        return build(at, [&] { return ::braid_dataset_cache(graph(), raw_, file); });
    }
    dataset concatenate(const dataset &next, here at = here::now()) const
    {
        return build(at, [&] { return ::braid_dataset_concatenate(graph(), raw_, next); });
    }

    // ---- Functions of elements ----
    //
    // A lambda gets the body, a graph_ref, and the components of an element, an outputs:
    // data.map([](braid::graph_ref g, const auto &x) { return braid::pack(x[0] * 2, x[1]); })

    /// The lambda returns an output, or an array of them (pack). `parallel_calls` 0: one by one, -1: as many
    /// as turn out to be of use.
    template <typename Map> dataset map(Map &&fn, int parallel_calls = 0, here at = here::now()) const
    {
        using made = detail::results<std::decay_t<std::invoke_result_t<Map &, graph_ref, const outputs &>>>;
        call<Map> called(fn, *this, at);
        const auto build_element = [](void *arg, braid_graph *body, const braid_out *element, braid_out *to) {
            static_cast<call<Map> *>(arg)->with(body, element,
                                                [&](const auto &result) { made::store(result, to); });
        };
        return called.build([&] {
            return ::braid_dataset_map(graph(), raw_, build_element, &called, made::count, parallel_calls);
        });
    }
    /// The lambda returns a bool scalar: whether the element stays.
    template <typename Predicate> dataset filter(Predicate &&fn, here at = here::now()) const
    {
        call<Predicate> called(fn, *this, at);
        const auto build_predicate = [](void *arg, braid_graph *body, const braid_out *element) {
            braid_out stays{};
            static_cast<call<Predicate> *>(arg)->with(body, element,
                                                      [&](const output &result) { stays = result; });
            return stays;
        };
        return called.build([&] { return ::braid_dataset_filter(graph(), raw_, build_predicate, &called); });
    }
    /// The lambda returns a dataset; their elements follow each other.
    template <typename Make> dataset flat_map(Make &&fn, here at = here::now()) const
    {
        call<Make> called(fn, *this, at);
        return called.build(
            [&] { return ::braid_dataset_flat_map(graph(), raw_, make_dataset<Make>, &called); });
    }
    /// The same, with `cycle_length` datasets that take turns.
    template <typename Make>
    dataset interleave(const braid_interleave_options &options, Make &&fn, here at = here::now()) const
    {
        call<Make> called(fn, *this, at);
        return called.build(
            [&] { return ::braid_dataset_interleave(graph(), raw_, &options, make_dataset<Make>, &called); });
    }
    template <typename Make> dataset interleave(int64_t cycle_length, Make &&fn, here at = here::now()) const
    {
        braid_interleave_options options{};
        options.cycle_length = cycle_length;
        return interleave(options, std::forward<Make>(fn), at);
    }

    // ---- Iterators ----

    iterator make_initializable_iterator(const char *shared_name = nullptr, here at = here::now()) const
    {
        return build(at, [&] { return ::braid_make_initializable_iterator(graph(), raw_, shared_name); });
    }
    /// Begins at its first element by itself. The dataset has no placeholder, variable or table.
    iterator make_one_shot_iterator(here at = here::now()) const
    {
        return build(at, [&] { return ::braid_make_one_shot_iterator(graph(), raw_); });
    }
    /// An iterator over datasets like this one, which iterator::make_initializer sets.
    iterator make_reinitializable_iterator(const char *shared_name = nullptr, here at = here::now()) const
    {
        return build(at, [&] { return ::braid_iterator_from_structure(graph(), raw_, shared_name); });
    }

  private:
    /// A lambda that C calls back.
    template <typename Fn> struct call {
        std::remove_reference_t<Fn> &fn;
        const dataset &of;
        here at;
        detail::callback guard;
        call(std::remove_reference_t<Fn> &f, const dataset &d, here line)
            : fn(f), of(d), at(line), guard(line)
        {
        }
        template <typename Use> void with(braid_graph *body, const braid_out *element, Use &&use)
        {
            guard.run(body, [&] { use(fn(graph_ref(body), outputs(element, element + of.size()))); });
        }
        template <typename Build> dataset build(Build &&make)
        {
            return of.build(at, [&] {
                const braid_dataset made = make();
                guard.rethrow();
                return made;
            });
        }
    };
    template <typename Make>
    static braid_dataset make_dataset(void *arg, braid_graph *body, const braid_out *element)
    {
        braid_dataset made{};
        static_cast<call<Make> *>(arg)->with(body, element, [&](const dataset &result) { made = result; });
        return made;
    }

    braid_graph *graph() const
    {
        return output(raw_.variant).graph();
    }
    template <typename Build> auto build(here at, Build &&make) const -> decltype(make())
    {
        return detail::build(graph(), at, std::forward<Build>(make));
    }
    braid_dataset raw_;
};

inline operation iterator::make_initializer(const dataset &data, here at) const
{
    return detail::build(graph(), at, [&] { return ::braid_iterator_make_initializer(graph(), raw_, data); });
}

} // namespace braid
#endif
