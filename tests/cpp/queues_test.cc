// Queues, readers, queue runners and coordinators in C++.
#include "check.hpp"

#include <atomic>
#include <fstream>
#include <thread>

namespace
{

using braid::outputs;
using braid::queue;

void queues_keep_elements()
{
    braid::graph g;
    braid_queue_options of_ten{};
    of_ten.capacity = 10;
    const auto fifo = queue::fifo(g, {{BRAID_FLOAT, {}}, {BRAID_INT32, {2}}}, of_ten);
    const auto put =
        fifo.enqueue_many({g.constant({1.0F, 2.0F, 3.0F}), g.constant({{1, 2}, {3, 4}, {5, 6}})});
    const auto one = fifo.enqueue({g.constant(9.0F), g.constant({7, 8})});
    const auto first = fifo.dequeue(), two = fifo.dequeue_many(2), rest = fifo.dequeue_up_to(5);
    const auto size = fifo.size(), is_closed = fifo.is_closed();
    const auto close = fifo.close();
    message_of(BRAID_INVALID_ARGUMENT, [&] { fifo.enqueue({g.constant(1.0F)}); });
    braid::session s(g);
    s.run(put);
    s.run(one);
    expect(s.run(size).scalar<int32_t>() == 4, "the number of elements");
    expect_elements<int32_t>(s.run({}, first)[1], {1, 2}, "an element");
    expect_elements<float>(s.run({}, two)[0], {2, 3}, "two elements");
    s.run(close);
    expect(s.run(is_closed).scalar<bool>(), "closed");
    expect_elements<float>(s.run({}, rest)[0], {9}, "what is left");
    message_of(BRAID_OUT_OF_RANGE, [&] { s.run({}, first); });
    message_of(BRAID_CANCELLED, [&] { s.run(one); });
}

void kinds_of_queues_have_their_order()
{
    braid::graph g;
    const auto keys = g.constant(braid::tensor(std::vector<int64_t>{2, 1, 3}));
    const auto values = g.constant({20, 10, 30});
    const auto by_priority = queue::priority(g, {{BRAID_INT32, {}}});
    const auto fill = by_priority.enqueue_many({keys, values});
    const auto lowest = by_priority.dequeue();
    const auto padding = queue::padding_fifo(g, {{BRAID_INT32, {-1}}});
    const auto short_one = padding.enqueue({g.constant({1})}),
               long_one = padding.enqueue({g.constant({2, 3})});
    const auto padded = padding.dequeue_many(2);
    const auto random = queue::random_shuffle(g, {{BRAID_INT32, {}}});
    const auto number = g.placeholder<int32_t>("number", {});
    const auto a = queue::fifo(g, {{BRAID_INT32, {}}}), b = queue::fifo(g, {{BRAID_INT32, {}}});
    const auto to_a = a.enqueue({g.constant(1)}), to_b = b.enqueue({g.constant(2)});
    const auto chosen = queue::select(number, {a, b}).dequeue();
    const auto shuffle = random.enqueue_many({values});
    const auto shuffled = random.dequeue_many(3);
    braid::session s(g);
    s.run(fill);
    expect_elements<int32_t>(s.run({}, lowest)[1], {10}, "the lowest priority");
    s.run(short_one);
    s.run(long_one);
    expect_elements<int32_t>(s.run({}, padded)[0], {1, 0, 2, 3}, "padded elements");
    s.run(shuffle);
    int32_t sum = 0;
    const auto all = s.run({}, shuffled);
    for (const int32_t x : all[0].elements<int32_t>())
        sum += x;
    expect(sum == 60, "all elements at random");
    s.run(to_a);
    s.run(to_b);
    expect_elements<int32_t>(s.run({{number, 1}}, chosen)[0], {2}, "the chosen queue");
}

void pipelines_feed_training()
{
    const temporary_dir dir;
    std::ofstream(dir / "a.txt") << "a\nb\nc\n";
    std::ofstream(dir / "b.txt") << "d\ne\nf\n";
    braid::graph g;
    braid_producer_options once{};
    once.num_epochs = 1;
    once.in_order = true;
    const auto files = braid::string_input_producer(g, {dir / "a.txt", dir / "b.txt"}, once);
    const auto lines = braid::reader::text_line(g);
    const auto record = lines.read(files);
    const auto both = braid::batch({record.value, record.key}, 2);
    std::string text;
    braid::monitored_session s(g);
    while (!s.should_stop()) {
        const auto values = s.run({}, braid::operation(), both);
        if (values.empty()) break;
        text += values[0].text(0) + values[0].text(1);
        expect(has(values[1].text(0), ".txt:"), "a key");
    }
    s.close();
    expect(text == "abcdef", "all lines in order");
}

void producers_make_slices()
{
    braid::graph g;
    braid_producer_options in_order{};
    in_order.in_order = true;
    const auto rows = braid::input_producer(g.constant({{1, 2}, {3, 4}}), in_order).dequeue();
    const auto numbers = braid::range_input_producer(g, 3, in_order).dequeue();
    const auto slices = braid::slice_input_producer({g.constant({5, 6}), g.constant({0.5F, 1.5F})}, in_order);
    const auto shuffled = braid::shuffle_batch({g.constant(4)}, 3);
    const auto joined = braid::batch_join({{g.constant(1)}, {g.constant(1)}}, 2);
    const auto both = braid::shuffle_batch_join({{g.constant(7)}, {g.constant(7)}}, 2);
    message_of(BRAID_INVALID_ARGUMENT, [&] { braid::batch_join({{numbers[0]}, {}}, 2); });
    braid::session s(g);
    s.run(g.global_variables_initializer());
    braid::coordinator c;
    braid::start_queue_runners(g, s, c);
    expect_elements<int32_t>(s.run({}, rows)[0], {1, 2}, "a row");
    expect_elements<int32_t>(s.run({}, numbers)[0], {0}, "a number");
    expect_elements<float>(s.run({}, slices)[1], {0.5F}, "slices");
    expect_elements<int32_t>(s.run({}, shuffled)[0], {4, 4, 4}, "a batch");
    expect_elements<int32_t>(s.run({}, joined)[0], {1, 1}, "a join");
    expect_elements<int32_t>(s.run({}, both)[0], {7, 7}, "a join at random");
    c.request_stop();
    c.join();
}

void readers_count_and_begin_again()
{
    const temporary_dir dir;
    std::ofstream(dir / "data") << "HEADabcdef";
    braid::record_writer writer(dir / "records");
    writer.write("one");
    writer.write("two");
    writer.close();
    braid::graph g;
    const auto name = g.placeholder<std::string>("name", {});
    const auto files = queue::fifo(g, {{BRAID_STRING, {}}});
    const auto put = files.enqueue({name});
    braid_fixed_length_options three{};
    three.record_bytes = 3;
    three.header_bytes = 4;
    const auto fixed = braid::reader::fixed_length_record(g, three);
    const auto pair = fixed.read_up_to(files, 2);
    const auto produced = fixed.num_records_produced(), units = fixed.num_work_units_completed();
    const auto whole = braid::reader::whole_file(g).read(files);
    const auto record = braid::reader::tf_record(g).read(files);
    const auto identity = braid::reader::identity(g);
    const auto same = identity.read(files);
    const auto state = identity.serialize_state(), kept = g.placeholder<std::string>("kept", {});
    const auto restore = identity.restore_state(kept), reset = identity.reset();
    const auto count = identity.num_records_produced();
    braid::session s(g);
    const auto read = [&](const char *file, const braid::output &out) {
        s.run(put, {{name, dir / file}});
        return s.run(out);
    };
    expect(read("data", pair.value).text(1) == "def", "records of one length");
    expect(s.run(produced).scalar<int64_t>() == 2 && s.run(units).scalar<int64_t>() <= 1, "counts");
    expect(read("data", whole.value).text(0) == "HEADabcdef", "a file");
    expect(read("records", record.value).text(0) == "one", "a record");
    expect(read("x", same.value).text(0) == dir / "x", "what the queue has");
    const braid::tensor saved = s.run(state);
    s.run(reset);
    expect(s.run(count).scalar<int64_t>() == 0, "a reset");
    s.run(restore, {{kept, saved}});
    expect(s.run(count).scalar<int64_t>() == 1, "the state before");
}

void runners_fill_queues()
{
    braid::graph g;
    const auto i = g.make_variable("i", 0, false);
    const auto q = queue::fifo(g, {{BRAID_INT32, {}}});
    const auto next = braid::assign_add(i.ref, g.constant(1));
    braid::queue_runner runner(q.handle(), {q.enqueue({next})});
    const auto x = q.dequeue()[0];
    braid::session s(g);
    s.run(g.global_variables_initializer());
    braid::coordinator c;
    runner.start(s, c);
    expect(s.run(x).scalar<int32_t>() == 1 && s.run(x).scalar<int32_t>() == 2, "numbers");
    c.request_stop();
    c.join();
    c.clear_stop();
    expect(!c.should_stop(), "a new beginning");
    runner.add();
    int count = 0;
    braid_collection_objects(g, BRAID_QUEUE_RUNNERS, &count);
    expect(count == 1, "it is in the collection");
}

void coordinators_end_threads_together()
{
    std::atomic<int> calls{0};
    {
        braid::coordinator c;
        c.loop("count", 0.001, [&](braid::coordinator_ref me) {
            if (++calls == 3) me.request_stop();
        });
        c.start("wait", [](braid::coordinator_ref me) { me.wait_for_stop(); });
        std::thread own([thread = c.register_thread("own"), ref = braid::coordinator_ref(c)]() mutable {
            ref.wait_for_stop();
            const auto ended = std::move(thread);
        });
        expect(c.wait_for_stop(60000), "a stop is requested");
        c.join(60000);
        own.join();
        c.check();
    }
    expect(calls == 3, "the calls of a loop");

    braid::coordinator failing;
    failing.start("fail",
                  [](braid::coordinator_ref) { throw braid::error(BRAID_DATA_LOSS, "told to fail"); });
    expect(has(message_of(BRAID_DATA_LOSS, [&] { failing.join(); }), "told to fail"),
           "the error of a thread");
    message_of(BRAID_DATA_LOSS, [&] { failing.check(); });

    braid::coordinator own;
    auto thread = own.register_thread("own");
    thread.fail(braid::error(BRAID_INTERNAL, "lost"));
    message_of(BRAID_INTERNAL, [&] { own.join(); });
    braid::coordinator ended;
    ended.request_stop(braid::error(BRAID_OUT_OF_RANGE, "the end"));
    ended.join();
    message_of(BRAID_INVALID_ARGUMENT, [&] { ended.loop("back", -1, [](braid::coordinator_ref) {}); });
}

} // namespace

int main()
{
    return run_tests(queues_keep_elements, kinds_of_queues_have_their_order, pipelines_feed_training,
                     producers_make_slices, readers_count_and_begin_again, runners_fill_queues,
                     coordinators_end_threads_together);
}
