// Sessions in C++ whose variables get values: savers, readers, scaffolds, session managers and creators,
// supervisors, replicas and work queues.
#include "check.hpp"

#include <atomic>
#include <fstream>

namespace
{

// A model that counts to what it is told: loss w^2, w begins at 4, each step halves it.
struct model {
    braid::graph g;
    braid::variable w = g.make_variable("w", 4.0F);
    braid::output loss = braid::square(w);
    braid::operation train = braid::gradient_descent(g, 0.25F).minimize(loss);
};

void checkpoints_are_saved_and_read()
{
    const temporary_dir dir;
    model m;
    braid::saver saver(m.g);
    braid_saver_options in_background{};
    in_background.asynchronous = true;
    in_background.name = "background";
    braid::saver background(m.g, {m.w.ref}, in_background);
    braid::session s(m.g);
    s.run(m.g.global_variables_initializer());
    const std::string first = saver.save(s, dir / "model", 1);
    s.run(m.train);
    auto save = background.begin(s, dir / "half", 2);
    expect(save.finish() == dir / "half-2", "the prefix");
    background.begin(s, dir / "half", 3); // waits at its end
    expect(braid::saver::latest(dir.path()) == dir / "half-3", "the newest");
    expect(braid::wait_for_new_checkpoint(dir.path(), first, 1000) == dir / "half-3", "a newer one");
    message_of(BRAID_DEADLINE_EXCEEDED,
               [&] { braid::wait_for_new_checkpoint(dir.path(), dir / "half-3", 1); });
    saver.restore(s, first);
    expect(s.run(m.w).scalar<float>() == 4, "restored");

    braid::checkpoint_reader reader(first);
    const auto entries = reader.list();
    expect(entries.size() == 2 && entries[1].name == "w" && entries[1].dtype == BRAID_FLOAT, "what it has");
    expect(reader.has("global_step") && !reader.has("none") && reader.prefix() == first, "names");
    expect(reader.read("w").scalar<float>() == 4, "a value");
    message_of(BRAID_NOT_FOUND, [&] { reader.read("none"); });
    expect(braid::checkpoint_reader(dir / "half-3").read("w").scalar<float>() == 2, "that of the background");
    braid::remove_checkpoint(first);
    expect(!braid::checkpoint_exists(first), "removed");
    message_of(BRAID_NOT_FOUND, [&] { braid::checkpoint_reader(dir / "none"); });
}

void summaries_go_to_event_files()
{
    const temporary_dir dir;
    braid::graph g;
    braid::summary_scalar("scalar", g.constant(1.5F));
    braid::summary_histogram("histogram", g.constant({1.0F, 2.0F}));
    braid::summary_image("image", g.constant(braid::tensor(std::vector<float>(16, 0.5F), {1, 4, 4, 1})));
    braid::summary_audio("audio", g.constant({{0.5F, -0.5F}}), 8000);
    const auto text = braid::summary_text("text", g.constant("some words"));
    const auto both = braid::summary_merge({text}), all = braid::summary_merge_all(g);
    braid::session s(g);
    braid::event_writer writer(dir / "events");
    writer.add_graph(g);
    writer.add_summary(s.run(all).text(0), 7);
    writer.add_summary(s.run(both).text(0), 8);
    writer.add_scalar("mine", 2.5F, 9);
    writer.flush();
    writer.close();
    std::string content;
    for (const auto &file : std::filesystem::directory_iterator(dir / "events")) {
        std::ifstream in(file.path(), std::ios::binary);
        content.assign(std::istreambuf_iterator<char>(in), {});
    }
    for (const char *tag : {"scalar", "histogram", "image", "audio", "some words", "mine"})
        expect(has(content, tag), "a tag");
}

void scaffolds_give_first_values()
{
    model m;
    const auto fed = m.g.placeholder<float>("fed", {});
    braid::scaffold scaffold;
    scaffold.init_op = braid::group({braid::assign(m.w.ref, fed).op(), braid::output(m.g.global_step()).op(),
                                     m.g.global_variables_initializer()});
    scaffold.init_feeds = {{fed, 1.0F}};
    const auto twice = braid::assign(m.w.ref, m.g.constant(12.0F));
    int calls = 0;
    scaffold.init_fn = [&](braid::session_ref s) {
        s.run(twice.op());
        calls++;
    };
    braid_session_config config{};
    config.scaffold = scaffold;
    braid::monitored_session s(m.g, config);
    expect(calls == 1 && s.evaluate(m.w).scalar<float>() == 12, "init_fn");
    s.close();

    model n;
    scaffold.init_op = {};
    scaffold.init_feeds.clear();
    scaffold.init_fn = [](braid::session_ref) { throw braid::error(BRAID_DATA_LOSS, "told to fail"); };
    braid_session_config failing{};
    failing.scaffold = scaffold;
    expect(
        has(message_of(BRAID_DATA_LOSS, [&] { braid::monitored_session t(n.g, failing); }), "told to fail"),
        "an exception of init_fn");
}

void managers_open_sessions()
{
    const temporary_dir dir;
    const std::string path = dir.path();
    braid_session_manager options{};
    options.checkpoint_dir = path.c_str();
    {
        model m;
        braid::saver saver(m.g);
        braid::session_manager manager(m.g, options);
        braid::session s = manager.prepare_session();
        s.run(m.train);
        saver.save(s, dir / "model", 1);
        s.close();
    }
    model m;
    braid::session_manager manager(m.g, options);
    auto [s, is_ready] = manager.recover_session();
    expect(is_ready && s.run(m.w).scalar<float>() == 2, "the checkpoint");
    s.close();
    braid::session_manager waiting(m.g);
    message_of(BRAID_FAILED_PRECONDITION, [&] { waiting.wait_for_session(); });
}

struct warm_creator : braid::session_creator {
    warm_creator(braid::operation op, int &n)
        : inner(braid_chief_session_creator(nullptr)), warm_up(op), created(n)
    {
    }
    bool is_chief() const override
    {
        return inner.is_chief();
    }
    void begin(braid_graph *g) override
    {
        inner.begin(g);
    }
    braid::session create_session(braid_graph *g, braid_session_request *request) override
    {
        braid::session s = inner.create_session(g, request);
        s.run(warm_up);
        created++;
        return s;
    }
    braid::inner_session_creator inner;
    braid::operation warm_up;
    int &created;
};

void creators_are_classes()
{
    model m;
    int created = 0;
    braid_session_config config{};
    config.creator = braid::make_session_creator<warm_creator>(m.train, created);
    braid::monitored_session s(m.g, config);
    expect(created == 1 && s.evaluate(m.w).scalar<float>() == 2, "a step before the first one");
    expect(s.is_chief() && !s.coordinator().should_stop(), "the chief");
    s.raw().run(m.train);
    expect(s.evaluate(m.w).scalar<float>() == 1, "the session underneath");
    s.close();
    model n;
    braid::monitored_session t(n.g);
    t.fail(braid::error(BRAID_DATA_LOSS, "told to fail"));
    expect(t.should_stop(), "an error of the program's own");
    expect(has(message_of(BRAID_DATA_LOSS, [&] { t.close(); }), "told to fail"), "which close throws");
}

struct closing : braid::hook {
    explicit closing(int &n) : closed(n) {}
    void before_run(braid_monitored_session *, braid::request &r) override
    {
        r.timeout(60000);
        runs++;
    }
    void before_close_session(braid_monitored_session *) override
    {
        closed += runs;
    }
    int runs = 0, &closed;
};

void steps_are_functions()
{
    model m;
    int closed = 0;
    braid::monitored_session s(m.g, {}, {braid::make_hook<closing>(closed)});
    s.run_step([&](braid::step_context c) {
        c.session().run(m.train);
        expect(c.run({}, m.train, {m.loss}).size() == 1, "a value");
        c.request_stop();
    });
    expect(s.should_stop() && s.evaluate(m.w).scalar<float>() == 1, "two updates and a stop");
    s.close();
    expect(closed == 1, "the hook has seen one run, and the end");

    model n;
    braid::monitored_session t(n.g);
    const auto fail = [](braid::step_context) { throw braid::error(BRAID_DATA_LOSS, "told to fail"); };
    expect(has(message_of(BRAID_DATA_LOSS, [&] { t.run_step(fail); }), "told to fail"), "an exception");
    expect(t.should_stop(), "which is the session's error");
}

void supervisors_run_services()
{
    const temporary_dir dir;
    const std::string logdir = dir / "log";
    braid_supervisor_options options{};
    options.is_chief = true;
    options.logdir = logdir.c_str();
    model m;
    braid::summary_scalar("loss", m.loss);
    const auto numbers = braid::range_input_producer(m.g, 3).dequeue();
    const auto batches = braid::batch(numbers, 4);
    std::atomic<int> calls{0};
    {
        braid::supervisor sv(m.g, options);
        auto s = sv.managed_session();
        expect(s.run({}, batches)[0].size() == 4, "queue runners fill the queue");
        sv.loop("count", 0.001, [&](braid::coordinator_ref c) {
            if (++calls >= 3) c.request_stop();
        });
        int steps = 0;
        for (; steps < 2; steps++)
            s.run(m.train);
        sv.summary_writer().add_scalar("mine", 1, 1);
        sv.summary_computed(s.run(m.g.find_output("loss")).text(0));
        expect(sv.wait_for_stop(60000) && sv.should_stop() && sv.coordinator().should_stop(), "a stop");
        expect(s.run(m.w).scalar<float>() == 1, "two steps");
        sv.stop();
        sv.close();
    }
    expect(calls >= 3, "the loop");
    expect(std::filesystem::exists(logdir + "/graph.pbtxt"), "the graph");

    model n;
    braid::supervisor again(n.g);
    message_of(BRAID_FAILED_PRECONDITION, [&] { again.start_standard_services(); });
    int count = 0;
    again.train_loop([&](braid::session_ref s) {
        s.run(n.train);
        if (++count == 3) again.request_stop();
    });
    expect(count == 3, "the loop of a supervisor");
    message_of(BRAID_DATA_LOSS, [&] {
        again.train_loop([](braid::session_ref) { throw braid::error(BRAID_DATA_LOSS, "told to fail"); });
    });
    again.prepare_or_wait_for_session().run(n.train);
    again.request_stop(braid::error(BRAID_INTERNAL, "told to stop"));
    message_of(BRAID_INTERNAL, [&] { again.close(); });
}

void replicas_average_their_gradients()
{
    braid::graph g;
    const auto w = g.make_variable("w", 4.0F);
    const auto loss = braid::square(w);
    auto opt = braid::gradient_descent(g, 0.25F);
    braid_sync_replicas_options one{};
    one.replicas_to_aggregate = 1;
    one.name = "other";
    braid::sync_replicas sync(opt, 1), other(opt, one);
    const auto train = sync.apply_gradients(opt.compute_gradients(loss));
    const auto stale = sync.num_stale();
    braid::monitored_session s(g, {}, {sync.hook(true), braid_stop_at_step(2)});
    int steps = 0;
    while (!s.should_stop() && ++steps < 10)
        s.run(train);
    expect(s.evaluate(w).scalar<float>() <= 1, "two updates at least");
    expect(s.evaluate(stale).scalar<int32_t>() >= 0, "stale gradients");
    s.close();
    expect(other.minimize(loss), "the gradients of a loss");
}

void shares_are_handed_out()
{
    const temporary_dir dir;
    std::ofstream(dir / "a") << "1\n2\n";
    std::ofstream(dir / "b") << "3\n";
    braid::graph g;
    braid_work_queue_options once{};
    once.num_epochs = 1;
    once.in_order = true;
    braid::work_queue work(g, {dir / "a", dir / "b"}, once);
    const auto numbers = braid::dataset::from_tensors({work.number()}).repeat();
    const auto it =
        braid::dataset::zip({braid::dataset::text_line(work.share()), numbers}).make_initializable_iterator();
    const auto next = it.get_next();
    const auto finished = work.finished();
    std::string lines;
    braid::monitored_session s(g, {}, {work.hook(it)});
    while (!s.should_stop()) {
        const auto values = s.run({}, braid::operation(), next);
        if (values.empty()) break;
        lines += values[0].text(0) + (values[1].scalar<int64_t>() ? "b" : "a");
    }
    expect(has(lines, "1a2a3b"), "the lines of all shares");
    expect_elements<int64_t>(s.evaluate(finished), {1, 1}, "how often they were finished");
    s.close();
}

} // namespace

int main()
{
    return run_tests(checkpoints_are_saved_and_read, summaries_go_to_event_files, scaffolds_give_first_values,
                     managers_open_sessions, creators_are_classes, steps_are_functions,
                     supervisors_run_services, replicas_average_their_gradients, shares_are_handed_out);
}
