// Heads of canned estimators: two classes, several classes, and regression.
#include "train/estimator/head.h"
#include "base/alloc.h"
#include "base/array.h"
#include "train/common/build.h"
#include "train/estimator/columns.h"
#include "train/estimator/head_metrics.h"
#include <stdio.h>
#include <string.h>

// What is built of an example's logits.
typedef struct outputs {
    braid_out logits, logistic, probabilities, class_ids, classes, all_classes, all_class_ids, predictions;
} outputs;

int64_t train_head_units(const train_head *h)
{
    if (!h->is_classifier) return h->label_dimension;
    return h->num_classes == 2 ? 1 : h->num_classes;
}

static bool is_binary(const train_head *h)
{
    return h->is_classifier && h->num_classes == 2;
}

// ---- Predictions ----

// The names of classes: those of the vocabulary, or their numbers as text.
static braid_out name_classes(const train_head *h, braid_graph *g, const char *name, braid_out ids)
{
    if (!h->label_vocabulary) return train_node1(g, "AsString", name, ids);
    return braid_gather(g, braid_const(g, "label_vocabulary", h->label_vocabulary), ids);
}

// The numbers of all classes for each example, as int32 and as strings.
static void list_classes(const train_head *h, braid_graph *g, outputs *o)
{
    const int64_t n = h->num_classes;
    const braid_out numbers = braid_range(g, 0, (int32_t)n, 1);
    const braid_out row = braid_expand_dims(g, numbers, 0);
    const braid_out batch = train_element(g, train_shape_of(g, o->logits), 0);
    const braid_out multiples[] = {batch, braid_const_int32(g, NULL, 1)};
    const braid_out tiles = braid_stack(g, multiples, 2, 0);
    o->all_class_ids = train_node2(g, "Tile", NULL, row, tiles);
    o->all_classes = name_classes(h, g, "str_all_classes", o->all_class_ids);
}

static outputs predict_classes(const train_head *h, braid_graph *g, braid_out logits)
{
    outputs o = {.logits = logits};
    braid_out scores = logits;
    if (is_binary(h)) {
        o.logistic = braid_identity(g, "logistic", braid_sigmoid(g, logits));
        const braid_out two[] = {braid_zeros_like(g, logits), logits};
        scores = braid_concat(g, two, 2, 1);
    }
    o.probabilities = braid_identity(g, "probabilities", braid_softmax(g, scores));
    o.class_ids = braid_expand_dims(g, braid_argmax(g, scores, 1), 1);
    o.classes = name_classes(h, g, "str_classes", o.class_ids);
    list_classes(h, g, &o);
    return o;
}

static void add_prediction(braid_estimator_spec *spec, const char *name, braid_out value)
{
    if (value.op) braid_spec_prediction(spec, name, value);
}

// The names with their values; returns how many there are.
static int named_outputs(const outputs *o, braid_named_tensor named[8])
{
    const braid_named_tensor all[] = {
        {.name = "logits", .values = o->logits},
        {.name = "logistic", .values = o->logistic},
        {.name = "probabilities", .values = o->probabilities},
        {.name = "class_ids", .values = o->class_ids},
        {.name = "classes", .values = o->classes},
        {.name = "all_class_ids", .values = o->all_class_ids},
        {.name = "all_classes", .values = o->all_classes},
        {.name = "predictions", .values = o->predictions},
    };
    int count = 0;
    for (int i = 0; i < 8; i++)
        if (all[i].values.op) named[count++] = all[i];
    return count;
}

static void export_outputs(const train_head *h, const outputs *o, braid_estimator_spec *spec)
{
    braid_named_tensor named[8];
    const int count = named_outputs(o, named);
    if (h->is_classifier) {
        braid_spec_export_classification(spec, BRAID_SERVING_DEFAULT, o->probabilities, o->all_classes);
        braid_spec_export_classification(spec, "classification", o->probabilities, o->all_classes);
        if (is_binary(h)) braid_spec_export_regression(spec, "regression", o->logistic);
    } else {
        braid_spec_export_regression(spec, BRAID_SERVING_DEFAULT, o->predictions);
        braid_spec_export_regression(spec, "regression", o->predictions);
    }
    braid_spec_export_predict(spec, "predict", named, count);
}

static outputs predict(const train_head *h, braid_graph *g, braid_out logits, braid_estimator_spec *spec)
{
    outputs o = {.predictions = logits};
    (void)braid_push_name_scope(g, "predictions");
    if (h->is_classifier) o = predict_classes(h, g, logits);
    braid_pop_name_scope(g);
    braid_named_tensor named[8];
    const int count = named_outputs(&o, named);
    for (int i = 0; i < count; i++)
        add_prediction(spec, named[i].name, named[i].values);
    export_outputs(h, &o, spec);
    return o;
}

// ---- Labels, weights and losses ----

// [batch, width]: a vector becomes a column.
static braid_out as_matrix(braid_graph *g, const char *what, braid_out x, int64_t width)
{
    const braid_shape shape = braid_out_shape(x);
    if (!x.op) return x;
    if (shape.rank == 1 && width == 1) return braid_expand_dims(g, x, 1);
    const bool fits = shape.rank < 0 || (shape.rank == 2 && (shape.dims[1] < 0 || shape.dims[1] == width));
    if (fits) return braid_reshape(g, x, BRAID_SHAPE(-1, width));
    char *text = braid_shape_text(shape);
    braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s have the shape %s, and the model wants [batch, %lld]%s",
                     what, text, (long long)width, width == 1 ? " or [batch]" : "");
    bd_free(text);
    return BRAID_NONE;
}

// The labels, once it has been checked that they are numbers of classes. A step fails when they are not.
static braid_out check_classes(const train_head *h, braid_graph *g, braid_out labels)
{
    const braid_dtype dtype = braid_out_dtype(labels);
    const braid_out low = braid_greater_equal(g, labels, braid_const_number(g, NULL, dtype, 0));
    const braid_out high = braid_less(g, labels, braid_const_number(g, NULL, dtype, (double)h->num_classes));
    const int32_t axes[] = {0, 1};
    char *what = h->label_vocabulary
                     ? bd_asprintf("A label is none of the %lld of the label vocabulary: their places are",
                                   (long long)h->num_classes)
                     : bd_asprintf("A label is no number of a class, from 0 to %lld: the labels are",
                                   (long long)h->num_classes - 1);
    const braid_out data[] = {braid_const_string(g, "message", what), labels};
    bd_free(what);
    braid_op_desc *d = braid_op_begin(g, "Assert", "check_labels");
    braid_op_input(d, braid_reduce(g, "All", braid_logical_and(g, low, high), axes, 2, false));
    braid_op_input_list(d, data, 2);
    braid_op *checked = braid_op_end(d);
    if (!checked) return BRAID_NONE;
    braid_push_control(g, &checked, 1);
    const braid_out out = braid_identity(g, "labels", labels);
    braid_pop_control(g);
    return out;
}

// [batch, 1] float of two classes, int64 of more.
static braid_out class_labels(const train_head *h, braid_graph *g, braid_out labels)
{
    const bool is_text = braid_out_dtype(labels) == BRAID_STRING;
    if (is_text && !h->label_vocabulary) {
        braid_graph_fail(
            g, BRAID_INVALID_ARGUMENT,
            "The labels are strings. A classifier takes numbers of classes, from 0 to %lld, or a "
            "label_vocabulary",
            (long long)h->num_classes - 1);
        return BRAID_NONE;
    }
    if (!is_text && h->label_vocabulary) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "The labels are numbers, and the classifier has a label_vocabulary of strings");
        return BRAID_NONE;
    }
    labels = as_matrix(g, "The labels", labels, 1);
    if (is_text) labels = train_vocabulary_places(g, h->label_vocabulary, labels);
    labels = braid_cast(g, labels, is_binary(h) ? BRAID_FLOAT : BRAID_INT64);
    return check_classes(h, g, labels);
}

static braid_out labels_of(const train_head *h, const braid_model_args *args)
{
    braid_graph *g = args->graph;
    const braid_out labels = braid_labels_get(args);
    if (!labels.op) return labels;
    if (h->is_classifier) return class_labels(h, g, labels);
    return braid_cast(g, as_matrix(g, "The labels", labels, h->label_dimension), BRAID_FLOAT);
}

static braid_out weights_of(const train_head *h, const braid_model_args *args)
{
    if (!h->weight_column) return BRAID_NONE;
    const braid_out weights = braid_features_get(args, h->weight_column);
    return braid_cast(args->graph, as_matrix(args->graph, "The weights of examples", weights, 1),
                      BRAID_FLOAT);
}

// The loss of each label, [batch, 1] or [batch, label_dimension].
static braid_out losses_of(const train_head *h, braid_graph *g, braid_out logits, braid_out labels)
{
    if (!h->is_classifier) return braid_squared_difference(g, logits, labels);
    if (is_binary(h)) return braid_sigmoid_cross_entropy(g, logits, labels);
    const braid_out vector = braid_reshape(g, labels, BRAID_SHAPE(-1));
    return braid_expand_dims(g, braid_sparse_softmax_cross_entropy(g, logits, vector), 1);
}

static void add_metrics(const train_head *h, braid_graph *g, const outputs *o, const train_judged *judged,
                        braid_estimator_spec *spec)
{
    (void)braid_push_name_scope(g, "metrics");
    train_metric_average_loss(g, judged, spec);
    if (is_binary(h)) train_metrics_binary(g, judged, o->logistic, o->class_ids, spec);
    if (h->is_classifier && !is_binary(h)) train_metric_accuracy(g, judged, o->class_ids, spec);
    if (!h->is_classifier) train_metrics_regression(g, judged, o->predictions, spec);
    braid_pop_name_scope(g);
}

// The loss of the batch, and in evaluation the metrics.
static braid_out judge(const train_head *h, const braid_model_args *args, braid_out logits, const outputs *o,
                       braid_estimator_spec *spec)
{
    braid_graph *g = args->graph;
    train_judged judged = {.labels = labels_of(h, args), .weights = weights_of(h, args)};
    judged.losses = losses_of(h, g, logits, judged.labels);
    const braid_out loss = braid_compute_weighted_loss(
        g, judged.losses, &(braid_loss_options){.weights = judged.weights, .reduction = h->reduction});
    if (args->mode == BRAID_MODE_EVAL) add_metrics(h, g, o, &judged, spec);
    braid_spec_loss(spec, loss);
    return loss;
}

void train_head_build(const train_head *h, const braid_model_args *args, braid_out logits,
                      const train_head_trainer *trainer, braid_estimator_spec *spec)
{
    braid_graph *g = args->graph;
    (void)braid_push_name_scope(g, "head");
    const outputs o = predict(h, g, logits, spec);
    if (args->mode != BRAID_MODE_PREDICT && !braid_graph_status(g, NULL)) {
        const braid_out loss = judge(h, args, logits, &o, spec);
        if (args->mode == BRAID_MODE_TRAIN && !braid_graph_status(g, NULL))
            braid_spec_train_op(spec, trainer->build(trainer->arg, g, loss));
    }
    braid_pop_name_scope(g);
}
