// Layers, losses and metrics in C++: a convolutional network learns, and metrics count what it gets right.
#include "check.hpp"

namespace
{

namespace layers = braid::layers;
namespace losses = braid::losses;
namespace metrics = braid::metrics;

// Images of 8 x 8 with a bright upper or lower half, and which half that is.
struct halves {
    braid::tensor images, labels;
};

halves draw_halves()
{
    constexpr int count = 16, side = 8;
    std::vector<float> pixels;
    std::vector<int32_t> labels;
    for (int i = 0; i < count; i++) {
        labels.push_back(i % 2);
        for (int y = 0; y < side; y++)
            for (int x = 0; x < side; x++)
                pixels.push_back((y < side / 2) == (i % 2 == 0) ? 1.0F + 0.05F * static_cast<float>(i)
                                                                : 0.0F);
    }
    return {{pixels, {count, side, side, 1}}, labels};
}

void networks_of_layers_learn()
{
    braid::graph g;
    g.set_seed(7);
    const auto images = g.placeholder<float>("images", {-1, 8, 8, 1});
    const auto labels = g.placeholder<int32_t>("labels", {-1});
    const auto is_training = g.placeholder<bool>("is_training", {});
    auto x = layers::conv2d(images, 4, {3, 3}, braid_relu);
    expect(x.shape_of() == braid::shape{-1, 6, 6, 4}, "valid padding");
    x = layers::max_pooling2d(layers::batch_normalization(x, is_training), 2);
    expect(x.shape_of() == braid::shape{-1, 3, 3, 4}, "pooling by its size");
    x = layers::dropout(layers::dense(layers::flatten(x), 8, braid_relu), 0.1, is_training);
    braid_layer_options last{};
    last.name = "logits";
    last.kernel_regularizer = braid_l2_regularizer(1e-3F);
    const auto logits = layers::dense(x, 2, last);
    losses::sparse_softmax_cross_entropy(labels, logits);
    const auto loss = losses::get_total_loss(g), penalty = losses::get_regularization_loss(g);
    braid::operation train;
    {
        const braid::update_ops_scope after(g);
        train = braid::adam(g, 0.05F).minimize(loss);
    }
    const auto accuracy = metrics::accuracy(labels, braid::cast<int32_t>(braid::argmax(logits, 1)));

    const halves data = draw_halves();
    const auto fed = [&](bool training) {
        return braid::feeds{{images, data.images}, {labels, data.labels}, {is_training, training}};
    };
    braid::monitored_session s(g);
    const float before = s.evaluate(loss, fed(true)).scalar<float>();
    for (int step = 0; step < 60; step++)
        s.run(fed(true), train);
    const auto kernel = g.find_output("logits/kernel/read");
    const auto after = s.evaluate(fed(true), {loss, penalty, braid::reduce_sum(braid::square(kernel))});
    expect(after[0].scalar<float>() < 0.5F * before, "the loss has become smaller");
    expect_near(after[1].scalar<float>(), 1e-3 / 2 * after[2].scalar<float>(), 1e-6, "the penalty");
    s.evaluate(accuracy.update, fed(true));
    expect_near(s.evaluate(accuracy.value).scalar<float>(), 1, 0, "the accuracy");
    const auto mean = g.find_output("batch_normalization/moving_mean/read");
    bool moved = false;
    const braid::tensor means = s.evaluate(mean);
    for (const float m : means.elements<float>())
        moved = moved || m != 0;
    expect(moved, "training updates the moving averages");
    s.close();
}

void layers_have_the_shapes_of_their_options()
{
    braid::graph g;
    const auto images = g.placeholder<float>("images", {2, 6, 8, 3});
    const auto lines = g.placeholder<float>("lines", {2, 9, 3});
    braid_conv_options twice{};
    twice.strides[0] = 2;
    twice.same_padding = true;
    twice.layer.name = "up";
    expect(layers::conv2d_transpose(images, 5, 3, twice).shape_of() == braid::shape{2, 12, 16, 5},
           "a transposed convolution doubles the size");
    braid_separable_conv_options separable{};
    separable.depth_multiplier = 2;
    expect(layers::separable_conv2d(images, 7, {1, 3}, separable).shape_of() == braid::shape{2, 6, 6, 7},
           "a separable convolution");
    expect(layers::conv1d(lines, 4, 3).shape_of() == braid::shape{2, 7, 4}, "a convolution of sequences");
    expect(layers::average_pooling2d(images, {2, 4}).shape_of() == braid::shape{2, 3, 2, 3}, "a mean");
    braid_pooling_options same{};
    same.strides[0] = 1;
    same.same_padding = true;
    expect(layers::max_pooling1d(lines, 3, same).shape_of() == braid::shape{2, 9, 3}, "windows of sequences");
    expect(layers::average_pooling1d(lines, 3).shape_of() == braid::shape{2, 3, 3}, "their means");
    expect(braid::conv2d_layer(images, 4, 3, 2).shape_of() == braid::shape{2, 3, 4, 4}, "the simple form");
    expect(has(message_of(BRAID_INVALID_ARGUMENT, [&] { layers::conv2d(lines, 4, 3); }), "layers_test.cc:"),
           "an error names the line");
}

void losses_have_weights()
{
    braid::graph g;
    const auto labels = g.constant({1.0F, 0.0F}), predictions = g.constant({3.0F, 0.5F});
    braid_loss_options weighted{};
    weighted.weights = g.constant({0.0F, 4.0F});
    const auto nothing = g.constant(0.0F);
    const std::vector<std::pair<braid::output, float>> wanted = {
        {losses::absolute_difference(labels, predictions), 1.25F},
        {losses::mean_squared_error(labels, predictions), 2.125F},
        {losses::mean_squared_error(labels, predictions, weighted), 1},
        {losses::huber_loss(labels, predictions), (1.5F + 0.125F) / 2},
        {losses::huber_loss(labels, predictions, 2), (2 + 0.125F) / 2},
        {losses::log_loss(labels, g.constant({0.5F, 0.5F})), std::log(2.0F)},
        {losses::hinge_loss(labels, predictions), 0.75F},
        {losses::cosine_distance(labels, g.constant({0.6F, 0.8F}), 0), 0.4F},
        {losses::mean_pairwise_squared_error(g.constant({{1.0F, 0.0F}}), g.constant({{3.0F, 0.5F}})), 2.25F},
        {losses::sigmoid_cross_entropy(labels, g.constant({0.0F, 0.0F})), std::log(2.0F)},
        {losses::softmax_cross_entropy(g.constant({{1.0F, 0.0F}}), g.constant({{0.0F, 0.0F}}), 0.1F),
         std::log(2.0F)},
        {losses::compute_weighted_loss(predictions, weighted), 2},
    };
    braid::session s(g);
    braid::outputs fetches;
    for (const auto &pair : wanted)
        fetches.push_back(pair.first);
    fetches.push_back(losses::get_total_loss(g, false));
    const auto values = s.run({}, fetches);
    double sum = 0;
    for (size_t i = 0; i < wanted.size(); i++) {
        expect_near(values[i].scalar<float>(), wanted[i].second, 1e-5, wanted[i].first.op().name().c_str());
        sum += values[i].scalar<float>();
    }
    expect_near(values.back().scalar<float>(), sum, 1e-4, "the sum of the losses");
    expect(s.run(nothing).scalar<float>() == 0, "a run after more nodes");
}

// Runs the updates of metrics once, and returns the value of each.
std::vector<double> values_of(braid::graph &g, const std::vector<braid::metric> &given)
{
    braid::session s(g);
    s.run(g.local_variables_initializer());
    braid::outputs updates, values;
    for (const braid::metric &m : given) {
        updates.push_back(m.update);
        values.push_back(m.value);
    }
    s.run({}, updates);
    std::vector<double> numbers;
    for (const braid::tensor &value : s.run({}, values))
        numbers.push_back(value.dtype() == BRAID_DOUBLE ? value.elements<double>()[0]
                                                        : value.elements<float>()[0]);
    return numbers;
}

void metrics_count()
{
    braid::graph g;
    const auto labels = g.constant({1.0F, 0.0F, 1.0F, 1.0F}), guesses = g.constant({1.0F, 1.0F, 0.0F, 1.0F});
    const auto scores = g.constant({0.9F, 0.6F, 0.4F, 0.8F}), values = g.constant({1.0F, 2.0F, 3.0F, 6.0F});
    const auto classes = g.constant({{0.1F, 0.7F, 0.2F}, {0.8F, 0.1F, 0.1F}});
    const auto truth = g.constant(braid::tensor(std::vector<int64_t>{1, 2}));
    braid_metric_options weighted{};
    weighted.weights = g.constant({1.0F, 0.0F, 0.0F, 1.0F});
    const std::vector<std::pair<braid::metric, double>> wanted = {
        {metrics::mean(values), 3},
        {metrics::mean(values, weighted), 3.5},
        {metrics::mean_tensor(values), 1},
        {metrics::percentage_below(values, 2.5), 0.5},
        {metrics::accuracy(labels, guesses), 0.5},
        {metrics::mean_squared_error(labels, guesses), 0.5},
        {metrics::root_mean_squared_error(labels, guesses), std::sqrt(0.5)},
        {metrics::mean_absolute_error(labels, guesses), 0.5},
        {metrics::mean_relative_error(labels, guesses, values), (0.5 + 1.0 / 3) / 4},
        {metrics::mean_cosine_distance(g.constant({{1.0F, 0.0F}}), g.constant({{0.6F, 0.8F}}), 1), 0.4},
        {metrics::true_positives(labels, guesses), 2},
        {metrics::false_positives(labels, guesses), 1},
        {metrics::true_negatives(labels, guesses), 0},
        {metrics::false_negatives(labels, guesses), 1},
        {metrics::precision(labels, guesses), 2.0 / 3},
        {metrics::recall(labels, guesses), 2.0 / 3},
        {metrics::auc(labels, scores), 2.0 / 3},
        {metrics::true_positives_at_thresholds(labels, scores, {0.5F, 0.85F}), 2},
        {metrics::false_positives_at_thresholds(labels, scores, {0.5F}), 1},
        {metrics::true_negatives_at_thresholds(labels, scores, {0.7F}), 1},
        {metrics::false_negatives_at_thresholds(labels, scores, {0.5F}), 1},
        {metrics::precision_at_thresholds(labels, scores, {0.7F}), 1},
        {metrics::recall_at_thresholds(labels, scores, {0.7F}), 2.0 / 3},
        {metrics::sensitivity_at_specificity(labels, scores, 1), 2.0 / 3},
        {metrics::specificity_at_sensitivity(labels, scores, 0.6), 1},
        {metrics::mean_iou(labels, guesses, 2), (0.0 + 0.5) / 2},
        {metrics::mean_per_class_accuracy(labels, guesses, 2), (0.0 + 2.0 / 3) / 2},
        {metrics::top_k_accuracy(truth, classes, 1), 0.5},
        {metrics::precision_at_k(truth, classes, 2), 0.25},
        {metrics::recall_at_k(truth, classes, 1), 0.5},
        {metrics::average_precision_at_k(truth, classes, 2), 0.5},
    };
    std::vector<braid::metric> all;
    for (const auto &pair : wanted)
        all.push_back(pair.first);
    const std::vector<double> numbers = values_of(g, all);
    for (size_t i = 0; i < wanted.size(); i++)
        expect_near(numbers[i], wanted[i].second, 2e-3, all[i].value.op().name().c_str());
}

} // namespace

int main()
{
    return run_tests(networks_of_layers_learn, layers_have_the_shapes_of_their_options, losses_have_weights,
                     metrics_count);
}
