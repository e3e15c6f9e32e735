// Datasets, iterators, parsing and files in C++, each read in a session.
#include "check.hpp"

#include <fstream>

namespace
{

using braid::dataset;
using braid::outputs;

// The values of all elements of component `i`, as numbers one after another.
template <typename T> std::vector<T> all_of(braid::graph &g, const dataset &data, size_t component = 0)
{
    const auto next = data.make_one_shot_iterator().get_next();
    braid::session s(g);
    std::vector<T> values;
    try {
        for (;;) {
            const braid::tensor element = s.run(next[component]);
            for (const T x : element.elements<T>())
                values.push_back(x);
        }
    } catch (const braid::error &e) {
        if (e.code() != BRAID_OUT_OF_RANGE) throw;
    }
    return values;
}

using numbers = std::vector<int64_t>;

void datasets_are_values()
{
    braid::graph g;
    const auto five = dataset::range(g, 0, 5);
    expect(all_of<int64_t>(g, five.repeat(2).skip(3).take(4)) == numbers{3, 4, 0, 1}, "repeat, skip, take");
    expect(all_of<int64_t>(g, five.shard(2, 1)) == numbers{1, 3}, "a shard");
    expect(all_of<int64_t>(g, five.batch(2)).size() == 5, "batches with a smaller last one");
    expect(all_of<int64_t>(g, five.batch(2, true)) == numbers{0, 1, 2, 3}, "the remainder is dropped");
    expect(all_of<int64_t>(g, five.concatenate(dataset::range(g, 7, 3, -2))) == numbers{0, 1, 2, 3, 4, 7, 5},
           "one after another");
    numbers shuffled = all_of<int64_t>(g, five.shuffle(5, 11).cache().prefetch());
    std::sort(shuffled.begin(), shuffled.end());
    expect(shuffled == numbers{0, 1, 2, 3, 4}, "another order");
    const auto pairs = dataset::zip({five, dataset::from_tensor_slices({g.constant({0.5F, 1.5F})})});
    expect(pairs.size() == 2 && pairs.dtype(1) == BRAID_FLOAT && pairs.shape_of(1) == braid::shape{},
           "two components");
    expect(all_of<float>(g, pairs, 1) == std::vector<float>{0.5F, 1.5F}, "as long as both have one");
    expect(all_of<int32_t>(g, dataset::from_tensors({g.constant({1, 2})})) == std::vector<int32_t>{1, 2},
           "one element");
}

void lambdas_are_functions_of_elements()
{
    braid::graph g;
    const auto factor = g.constant(static_cast<int64_t>(10));
    const auto four = dataset::range(g, 0, 4);
    const auto scaled = four.map(
        [&](braid::graph_ref body, const outputs &x) {
            return braid::pack(x[0] * factor + body.constant(static_cast<int64_t>(1)), braid::square(x[0]));
        },
        2);
    expect(scaled.size() == 2, "two results");
    expect(all_of<int64_t>(g, scaled) == numbers{1, 11, 21, 31}, "the first one");
    expect(all_of<int64_t>(g, scaled, 1) == numbers{0, 1, 4, 9}, "the second one");
    const auto large = four.filter([](braid::graph_ref, const outputs &x) { return x[0] > 1; });
    expect(all_of<int64_t>(g, large) == numbers{2, 3}, "those for which the predicate is true");
    const auto twice = [](braid::graph_ref, const outputs &x) {
        return dataset::from_tensors({x[0]}).repeat(2);
    };
    expect(all_of<int64_t>(g, large.flat_map(twice)) == numbers{2, 2, 3, 3}, "datasets of elements");
    expect(all_of<int64_t>(g, large.interleave(2, twice)) == numbers{2, 3, 2, 3}, "which take turns");

    braid::graph h;
    const auto bad = [&] {
        dataset::range(h, 0, 4).map([](braid::graph_ref body, const outputs &x) {
            return braid::matmul(x[0], braid::output(body.constant(1.0F)));
        });
    };
    expect(has(message_of(BRAID_INVALID_ARGUMENT, bad), "input_test.cc:"), "an error of a lambda");
    braid::graph k;
    try {
        dataset::range(k, 0, 4).filter([](braid::graph_ref, const outputs &x) {
            throw std::logic_error("told to fail");
            return x[0];
        });
        expect(false, "an exception of a lambda");
    } catch (const std::logic_error &e) {
        expect(has(e.what(), "told to fail"), "the exception itself");
    }
}

void iterators_begin_again()
{
    braid::graph g;
    const auto next_of = [](const braid::iterator &it) { return it.get_next()[0]; };
    const auto two = dataset::range(g, 0, 2), many = dataset::range(g, 5, 9);
    const auto once = two.make_initializable_iterator();
    const auto any = two.make_reinitializable_iterator();
    const auto x = next_of(once), y = next_of(any);
    const auto to_two = any.make_initializer(two), to_many = any.make_initializer(many);
    braid::session s(g);
    message_of(BRAID_FAILED_PRECONDITION, [&] { s.run(x); });
    s.run(once.initializer());
    expect(s.run(x).scalar<int64_t>() == 0 && s.run(x).scalar<int64_t>() == 1, "both elements");
    message_of(BRAID_OUT_OF_RANGE, [&] { s.run(x); });
    s.run(to_many);
    expect(s.run(y).scalar<int64_t>() == 5, "the second dataset");
    s.run(to_two);
    expect(s.run(y).scalar<int64_t>() == 0, "the first one");
}

void padded_batches_have_the_largest_shape()
{
    braid::graph g;
    const auto lengths = dataset::range(g, 1, 4).map([](braid::graph_ref body, const outputs &x) {
        const braid_out length_raw = braid::cast<int32_t>(x[0]);
        return body.add("Fill", {braid::output(braid_stack(body, &length_raw, 1, 0)), body.constant(7)})
            .out();
    });
    const auto batch = lengths.padded_batch(3, {{-1}});
    expect(all_of<int32_t>(g, batch) == std::vector<int32_t>{7, 0, 0, 7, 7, 0, 7, 7, 7}, "padded by zeros");
    message_of(BRAID_INVALID_ARGUMENT, [&] { lengths.padded_batch(3, {{-1}, {2}}); });
}

void records_are_written_read_and_parsed()
{
    const temporary_dir dir;
    const std::string path = dir / "data.tfrecord";
    braid::record_writer writer(path, BRAID_COMPRESSION_GZIP);
    braid::example e;
    for (int64_t i = 0; i < 4; i++) {
        e.clear();
        e.int64s("label", {i}).floats("x", {0.5F, static_cast<float>(i)});
        if (i % 2) e.bytes("tags", "odd");
        writer.write(e.serialize());
    }
    writer.flush();
    writer.close();
    e.int64s("x", {1});
    message_of(BRAID_INVALID_ARGUMENT, [&] { e.serialize(); });

    braid::record_reader reader(path, BRAID_COMPRESSION_GZIP);
    int count = 0;
    while (const auto record = reader.read())
        count += record->find("label") != std::string_view::npos;
    expect(count == 4, "four records");
    message_of(BRAID_NOT_FOUND, [&] { braid::record_reader(dir / "none"); });

    braid::graph g;
    const std::vector<braid::feature> features = {braid::fixed_len_feature<int64_t>("label", {}),
                                                  braid::fixed_len_feature<float>("x", {2}),
                                                  braid::fixed_len_feature<float>("y", {}, -1.0F)};
    const auto records = dataset::tf_record(g, {path}, "GZIP");
    const auto data = records.batch(2).parse_example(features);
    expect(data.size() == 3 && data.shape_of(1) == braid::shape{-1, 2}, "features by name");
    expect(all_of<int64_t>(g, data) == numbers{0, 1, 2, 3}, "labels");
    expect(all_of<float>(g, data, 1)[7] == 3, "values");
    expect(all_of<float>(g, data, 2)[0] == -1, "a default");

    const auto serialized = records.batch(4).make_one_shot_iterator().get_next()[0];
    const auto tags =
        braid::parse_example(serialized, {braid::var_len_feature<std::string>("tags"), features[1]});
    braid::session s(g);
    const auto values = s.run({}, {tags[0].values, tags[0].dense_shape, tags[1].values});
    expect(values[0].size() == 2 && values[0].text(1) == "odd", "a list of any length");
    expect_elements<int64_t>(values[1], {4, 1}, "its shape");
    expect(values[2].shape_of() == braid::shape{4, 2} && !tags[1].indices, "a dense feature");
}

void files_have_lines_and_fields()
{
    const temporary_dir dir;
    std::ofstream(dir / "a.csv") << "x,y\n1,2.5\n3,\n";
    std::ofstream(dir / "b.bin") << "Habcdef";
    braid::graph g;
    const auto files = dataset::list_files(g, {dir / "*.csv"});
    const auto defaults = outputs{g.constant(std::vector<int32_t>{}), g.constant({-1.0F})};
    const auto fields = dataset::csv(g.constant(dir / "a.csv"), defaults, true);
    expect(all_of<int32_t>(g, fields) == std::vector<int32_t>{1, 3}, "a column");
    expect(all_of<float>(g, fields, 1) == std::vector<float>{2.5F, -1}, "one with a default");
    const auto name = files.make_one_shot_iterator().get_next()[0];
    const auto line = dataset::text_line(g, {dir / "a.csv"}).make_one_shot_iterator().get_next()[0];
    const auto record =
        dataset::fixed_length_record(g.constant(dir / "b.bin"), 3, 1).make_one_shot_iterator().get_next()[0];
    braid::session s(g);
    expect(s.run(name).text(0) == dir / "a.csv", "a file");
    expect(s.run(line).text(0) == "x,y", "a line");
    s.run(record);
    expect(s.run(record).text(0) == "def", "a record of three bytes");

    const std::string idx("\0\0\x08\x02\0\0\0\x02\0\0\0\x03"
                          "abcdef",
                          18);
    std::ofstream(dir / "images", std::ios::binary) << idx;
    const braid::tensor images = braid::read_idx(dir / "images");
    expect(images.shape_of() == braid::shape{2, 3} && images.elements<uint8_t>()[5] == 'f', "an idx file");
    std::ofstream(dir / "short", std::ios::binary) << idx.substr(0, 17);
    message_of(BRAID_DATA_LOSS, [&] { braid::read_idx(dir / "short"); });
}

} // namespace

int main()
{
    return run_tests(datasets_are_values, lambdas_are_functions_of_elements, iterators_begin_again,
                     padded_batches_have_the_largest_shape, records_are_written_read_and_parsed,
                     files_have_lines_and_fields);
}
