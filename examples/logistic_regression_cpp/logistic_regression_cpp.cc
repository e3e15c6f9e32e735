// Logistic regression in C++, with checkpoints, summaries for TensorBoard and a line of progress:
//
//     logistic_regression_cpp [DIRECTORY [STEPS]]
//
// A second run with the same directory and more steps goes on where the first one ended.
#include <braid/braid.hpp>
#include <cstdio>
#include <iostream>
#include <random>

namespace
{

constexpr int64_t points = 1000, features = 3;

// Random points, and whether they are above a plane, which is what the model is to find out.
braid::feeds draw_points(const braid::output &x, const braid::output &y)
{
    std::mt19937 random;
    std::uniform_real_distribution<float> uniform(-0.5F, 0.5F);
    std::vector<float> coordinates, above;
    for (int i = 0; i < points; i++) {
        float height = -0.25F;
        for (int k = 0; k < features; k++) {
            coordinates.push_back(uniform(random));
            height += static_cast<float>(k + 1) * coordinates.back();
        }
        above.push_back(height > 0 ? 1.0F : 0.0F);
    }
    return {{x, {coordinates, {points, features}}}, {y, {above, {points, 1}}}};
}

} // namespace

int main(int argc, char **argv)
try {
    const int64_t steps = argc > 2 ? std::stoll(argv[2]) : 1000;
    braid::graph g;
    auto x = g.placeholder<float>("x", {-1, features});
    auto y = g.placeholder<float>("y", {-1, 1});
    auto logits = braid::dense(x, 1, "model");
    auto loss = braid::reduce_mean(braid::sigmoid_cross_entropy(logits, y));
    auto right = braid::equal(braid::round(braid::sigmoid(logits)), y);
    auto accuracy = braid::reduce_mean(braid::cast<float>(right));
    auto train = braid::gradient_descent(g, 1).minimize(loss);
    braid::summary_scalar("loss", loss);

    braid_session_config config{};
    config.checkpoint_dir = argc > 1 ? argv[1] : nullptr;
    braid::monitored_session s(g, config, {braid_stop_at_step(steps), braid_progress(loss, steps)});
    const braid::feeds batch = draw_points(x, y);
    while (!s.should_stop())
        s.run(batch, train);
    std::printf("accuracy: %.3f\n", static_cast<double>(s.evaluate(accuracy, batch).scalar<float>()));
    s.close();
    return 0;
} catch (const std::exception &e) {
    std::cerr << e.what() << "\n";
    return 1;
}
